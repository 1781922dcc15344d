package actors_test

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// silent are the options of an actor system in a test: nothing is logged, and
// no throttle of dead letters outlasts it.
var silent = []actor.ConfigOption{
	actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }),
	actor.WithDeadLetterThrottleInterval(time.Millisecond),
}
