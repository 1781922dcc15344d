package llmtest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Server serves a handler with the whole HTTP stack, over sockets or over
// connections in memory.
type Server struct {
	// URL is where a client of the OpenAI dialect finds it: "http://HOST/v1".
	URL string

	listener net.Listener
	dial     func(ctx context.Context, network, addr string) (net.Conn, error) // nil for sockets
	dials    atomic.Int64
	server   *http.Server
	done     chan struct{} // closed when Serve has returned
}

// ListenTCP serves on a free port of the loopback interface.
func ListenTCP(h http.Handler) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return serve(h, l, nil), nil
}

// ListenPipe serves over connections in memory, which only the server's own
// transports reach. It works in a synctest bubble; [Server.Close] it there.
func ListenPipe(h http.Handler) *Server {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	return serve(h, l, l.dial)
}

func serve(h http.Handler, l net.Listener, dial func(context.Context, string, string) (net.Conn, error)) *Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := &Server{
		URL: "http://" + l.Addr().String() + "/v1", listener: l, dial: dial,
		server: &http.Server{Handler: h, Protocols: &protocols}, done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		_ = s.server.Serve(l) // ErrServerClosed, after Close
	}()
	return s
}

// Attach makes a transport dial this server, and count its dials.
func (s *Server) Attach(t *http.Transport) *http.Transport {
	dial := s.dial
	if dial == nil {
		dial = t.DialContext
	}
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		s.dials.Add(1)
		return dial(ctx, network, addr)
	}
	t.Proxy = nil
	return t
}

// Dials is the number of connections that attached transports asked for.
func (s *Server) Dials() int { return int(s.dials.Load()) }

// Close drops all connections and waits until the server has ended. The idle
// connections of a transport are the transport's.
func (s *Server) Close() {
	_ = s.server.Close()
	<-s.done
}

// pipeListener gives out one end of each pipe whose other end was dialled.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	var err error
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		err = errors.New("the server in memory is closed")
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = client.Close()
	_ = server.Close()
	return nil, err
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "memory" }
