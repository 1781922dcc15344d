// Package debug serves a process's profiles, and an engine's metrics, to whoever
// is at the same machine: for go tool pprof, go tool trace and Prometheus.
//
// Nothing is served unless [Serve] is called, and then on a loopback address
// only: profiles tell what a process does, and taking them slows it down. It
// does without package net/http/pprof, which would register its handlers on the
// default mux of every program that imports this one. What the engine counts is
// at /metrics, profiles are at /debug/pprof/ as usual:
//
//	go tool pprof http://127.0.0.1:6060/debug/pprof/profile?seconds=10
//	go tool pprof http://127.0.0.1:6060/debug/pprof/heap
//	curl -o trace.out http://127.0.0.1:6060/debug/pprof/trace?seconds=2
package debug

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"time"

	"clm/actors/metrics"
)

// closeTime is how long requests in flight may take to notice the end.
const closeTime = 10 * time.Second

// Server serves until it is closed.
type Server struct {
	http  *http.Server
	addr  net.Addr
	stop  context.CancelFunc
	ended chan struct{}
}

// Serve serves profiles and c's metrics on a loopback address, like
// "127.0.0.1:6060" or "localhost:0". Without c there are no metrics.
func Serve(addr string, c *metrics.Collector) (*Server, error) {
	tcp, err := loopback(addr)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenTCP("tcp", tcp)
	if err != nil {
		return nil, fmt.Errorf("debug address %q: %w", addr, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{addr: l.Addr(), stop: stop, ended: make(chan struct{}), http: &http.Server{
		Handler: local(Handler(c)), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx },
	}}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(l) // ends with Close, or with the listener
	}()
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.addr }

// Close ends the server with the profiles that are being taken, and waits for
// them.
func (s *Server) Close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("close debug server: %w", err), s.http.Close())
	}
	<-s.ended
	return err
}

// loopback resolves an address that nobody but this machine can reach.
func loopback(addr string) (*net.TCPAddr, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("debug address %q: %w; write HOST:PORT, like 127.0.0.1:6060", addr, err)
	}
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("debug address %q: %w", addr, err)
	}
	if host == "" || !tcp.IP.IsLoopback() {
		return nil, fmt.Errorf("debug address %q: other machines could reach it, and profiles tell what this one does; use 127.0.0.1:%d", addr, tcp.Port)
	}
	return tcp, nil
}

// local refuses requests that a page in a browser made by a name of its own that
// leads to this machine.
func local(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && !ip.IsLoopback() {
			http.Error(w, fmt.Sprintf("host %q is not this machine; ask for localhost or 127.0.0.1", host), http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Handler serves the same as [Serve], for a server of the embedder's; whoever
// can reach that can take profiles.
func Handler(c *metrics.Collector) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /debug/pprof/{$}", index)
	m.HandleFunc("GET /debug/pprof/{name}", lookup)
	m.HandleFunc("GET /debug/pprof/profile", during("profile", pprof.StartCPUProfile, pprof.StopCPUProfile))
	m.HandleFunc("GET /debug/pprof/trace", during("trace", trace.Start, trace.Stop))
	if c != nil {
		m.Handle("GET /metrics", c.Handler())
	}
	return m
}

// index lists the profiles.
func index(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	b.WriteString("profile?seconds=30\ntrace?seconds=1\n")
	all := pprof.Profiles()
	slices.SortFunc(all, func(a, b *pprof.Profile) int { return strings.Compare(a.Name(), b.Name()) })
	for _, p := range all {
		fmt.Fprintf(&b, "%s?debug=1\t%d\n", p.Name(), p.Count())
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, b.String()) // the client may have left
}

// lookup writes what a profile holds now.
func lookup(w http.ResponseWriter, r *http.Request) {
	p := pprof.Lookup(r.PathValue("name"))
	if p == nil {
		http.Error(w, "no such profile; /debug/pprof/ lists them", http.StatusNotFound)
		return
	}
	debug, err := number(r, "debug", 0, 2)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if p.Name() == "heap" && r.FormValue("gc") == "1" {
		runtime.GC()
	}
	var b bytes.Buffer
	if err := p.WriteTo(&b, debug); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, p.Name(), debug > 0, &b)
}

// during takes a profile for some seconds, or until the client leaves.
func during(name string, start func(io.Writer) error, stop func()) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, err := number(r, "seconds", map[string]int{"profile": 30, "trace": 1}[name], 600)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var b bytes.Buffer
		if err := start(&b); err != nil { // another one is being taken
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		t := time.NewTimer(time.Duration(n) * time.Second)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
		}
		stop()
		send(w, name, false, &b)
	}
}

// number reads a parameter.
func number(r *http.Request, name string, unless, most int) (int, error) {
	s := r.FormValue(name)
	if s == "" {
		return unless, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("%s=%s: give a number from 0 to %d", name, s, most)
	}
	return n, nil
}

func send(w http.ResponseWriter, name string, text bool, b *bytes.Buffer) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if text {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Del("Content-Disposition")
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(b.Bytes()) // the client may have left
}
