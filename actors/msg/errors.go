package msg

import (
	"context"
	"syscall"
)

// Error is a refusal of a command or the status of a turn. [errors.Is]
// matches it with its errno too.
type Error struct {
	text  string
	errno syscall.Errno
}

func (e *Error) Error() string { return e.text }

// Is matches the errno of the C interface.
func (e *Error) Is(target error) bool {
	return target == e.errno || e == ErrCanceled && target == context.Canceled
}

// The errors of commands and turns.
var (
	// ErrBusy: a turn is in flight.
	ErrBusy = &Error{"a turn is in flight; wait for its end or cancel it", syscall.EBUSY}
	// ErrCanceled is the status of a cancelled turn.
	ErrCanceled = &Error{"the turn was cancelled", syscall.ECANCELED}
	// ErrNoTurn: there is nothing to cancel.
	ErrNoTurn = &Error{"no turn is in flight", syscall.ENOENT}
	// ErrStopped: the agent or its engine has ended.
	ErrStopped = &Error{"the agent or its engine has stopped", syscall.ESHUTDOWN}
	// ErrEmpty: a prompt without text and attachments.
	ErrEmpty = &Error{"the prompt is empty", syscall.EINVAL}
	// ErrNoQuestion: the permission question is not open (any more).
	ErrNoQuestion = &Error{"no such permission question is open", syscall.ENOENT}
	// ErrCeiling: a limit on turns, tokens or price is reached.
	ErrCeiling = &Error{"a ceiling of the run is reached", syscall.EDQUOT}
	// ErrOverloaded: the engine is at its limits.
	ErrOverloaded = &Error{"the engine is at its limits; try again later", syscall.EAGAIN}
	// ErrNothingToCompact: the conversation has no older part to fold.
	ErrNothingToCompact = &Error{"the conversation is too short to compact", syscall.ENODATA}
)
