package llm

import (
	"net"
	"net/http"
	"time"
)

// NewTransport makes the transport that a process shares among all its
// connections. It keeps as many idle connections a host as there were requests
// at once: the default of two dials anew for almost every request of a busy
// process. It has no limit on the time of a whole answer; the clients bound
// silence. Proxies come from the environment.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          0, // no limit
		MaxIdleConnsPerHost:   1 << 16,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // the clients say what they accept
		// Small: a busy process has thousands of connections, whose streams
		// send a few hundred bytes at a time, and a large body is not buffered.
		WriteBufferSize: 1 << 10,
		ReadBufferSize:  1 << 10,
	}
}
