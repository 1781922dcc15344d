package main

import (
	"fmt"
	"net/http"
	"net/url"
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
	s := &splitTransport{rest: llm.NewTransport()}
	s.add(t.URL)
	for _, pr := range cfg.Providers {
		s.add(pr.URL)
	}
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
	model   http.RoundTripper
	rest    *http.Transport
	servers []*url.URL // of models: scheme, host and the folder that the API is in
}

// add takes the URL of a connection. What a server is asked about itself is
// beside the API's version, not below it.
func (s *splitTransport) add(base string) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	s.servers = append(s.servers, u)
}

// RoundTrip implements http.RoundTripper.
func (s *splitTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	isModel := func(u *url.URL) bool {
		return u.Scheme == req.URL.Scheme && strings.EqualFold(u.Host, req.URL.Host) && strings.HasPrefix(req.URL.Path, u.Path+"/")
	}
	if slices.ContainsFunc(s.servers, isModel) {
		return s.model.RoundTrip(req)
	}
	return s.rest.RoundTrip(req)
}

// CloseIdleConnections closes what is kept open between requests.
func (s *splitTransport) CloseIdleConnections() { s.rest.CloseIdleConnections() }
