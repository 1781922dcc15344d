package actors

import (
	"fmt"
	"sync/atomic"
	"time"

	"clm/actors/internal/store"
)

type (
	// SessionInfo is a session in a list.
	SessionInfo = store.Info
	// SessionMeta is what a session says about itself.
	SessionMeta = store.Meta
	// LoadedSession is a session's content.
	LoadedSession = store.Loaded
)

// The errors of sessions.
var (
	ErrSessionLocked    = store.ErrLocked    // somebody else writes it
	ErrSessionNotFound  = store.ErrNotFound  // there is none of this id or prefix
	ErrSessionAmbiguous = store.ErrAmbiguous // a prefix of several ids
	ErrSessionVersion   = store.ErrVersion   // of a later version of clm
)

// Sessions are the stored conversations of one folder. Its methods read files
// on the caller's goroutine.
type Sessions struct{ store.Store }

// OpenSessions is the store in a folder, which is made with the first session.
func OpenSessions(dir string) Sessions { return Sessions{store.New(dir)} }

// Session is a stored conversation that is open for writing, for one agent:
// give it to [AgentOptions.Session], with its messages as History. The agent
// closes it.
type Session struct {
	session *store.Session
	given   atomic.Bool // to an agent, or closed
}

// give takes the session for one agent.
func (s *Session) give() error {
	if !s.given.CompareAndSwap(false, true) {
		return fmt.Errorf("session %s: it was closed, or given to another agent; when that has ended, open it again", s.ID())
	}
	return nil
}

// ID is the session's name.
func (s *Session) ID() string { return s.session.ID() }

// Close lets go of a session that no agent was given, and else does nothing.
func (s *Session) Close() error {
	if !s.given.CompareAndSwap(false, true) {
		return nil
	}
	return s.session.Close()
}

// Create begins a session. Nothing is written before its first message.
func (s Sessions) Create(meta SessionMeta) (*Session, error) {
	x, err := s.Store.Create(time.Now(), meta)
	if err != nil {
		return nil, err
	}
	return &Session{session: x}, nil
}

// Open opens a session to go on with, mended and locked against other writers.
func (s Sessions) Open(id string) (*Session, LoadedSession, error) {
	x, l, err := s.Store.Open(id)
	if err != nil {
		return nil, l, err
	}
	return &Session{session: x}, l, nil
}
