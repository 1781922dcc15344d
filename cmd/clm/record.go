package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"clm/config"
	"clm/llm"
	"clm/llm/record"
)

// transport is what requests go through: the network, with --record or
// --replay for those to models. Nil leaves it to the engine.
func (p *Program) transport(cfg *config.Config, t config.Target) (http.RoundTripper, error) {
	f := &p.flags
	if f.record == "" && f.replay == "" {
		return nil, nil
	}
	s := &splitTransport{rest: llm.NewTransport(), hosts: []string{t.URL}}
	for _, pr := range cfg.Providers {
		s.hosts = append(s.hosts, pr.URL)
	}
	s.hosts = slices.DeleteFunc(s.hosts, func(h string) bool { return h == "" })
	var err error
	if f.record != "" {
		s.model, err = record.Record(f.record, s.rest)
	} else {
		s.model, err = record.Replay(f.replay)
	}
	if err != nil {
		return nil, fmt.Errorf("--%w", err)
	}
	return s, nil
}

// splitTransport sends what is for a model another way than plugins' requests.
type splitTransport struct {
	model http.RoundTripper
	rest  *http.Transport
	hosts []string // beginnings of the models' URLs
}

// RoundTrip implements http.RoundTripper.
func (s *splitTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if slices.ContainsFunc(s.hosts, func(h string) bool { return strings.HasPrefix(req.URL.String(), h) }) {
		return s.model.RoundTrip(req)
	}
	return s.rest.RoundTrip(req)
}

// CloseIdleConnections closes what is kept open between requests.
func (s *splitTransport) CloseIdleConnections() { s.rest.CloseIdleConnections() }
