package actors

import (
	"fmt"
	"sync/atomic"

	"clm/actors/msg"
	"clm/llm"
)

// Budget is a ceiling over everything that shares it: an agent, its
// sub-agents, or many agents. Zero limits are none.
type Budget struct {
	MaxTurns  int64   // turns started, those of [Agent.Compact] included
	MaxTokens int64   // input and output of all requests
	MaxPrice  float64 // of all requests

	turns, tokens, nanos atomic.Int64
}

// Used is what was spent so far.
func (b *Budget) Used() (turns, tokens int64, price float64) {
	return b.turns.Load(), b.tokens.Load(), float64(b.nanos.Load()) / 1e9
}

// admit counts a turn, or says why it may not start.
func (b *Budget) admit() error {
	if b == nil {
		return nil
	}
	if err := b.over(); err != nil {
		return err
	}
	if n := b.turns.Add(1); b.MaxTurns > 0 && n > b.MaxTurns {
		b.turns.Add(-1)
		if b.MaxTurns == 1 {
			return fmt.Errorf("%w: 1 turn", msg.ErrCeiling)
		}
		return fmt.Errorf("%w: %d turns", msg.ErrCeiling, b.MaxTurns)
	}
	return nil
}

// spend counts a request and says when a ceiling is reached.
func (b *Budget) spend(u llm.Usage, price float64) error {
	if b == nil {
		return nil
	}
	b.tokens.Add(u.Total())
	b.nanos.Add(int64(price * 1e9)) // one token of a cheap model is less than a millionth
	return b.over()
}

func (b *Budget) over() error {
	if t := b.tokens.Load(); b.MaxTokens > 0 && t >= b.MaxTokens {
		return fmt.Errorf("%w: %d of at most %d tokens are used", msg.ErrCeiling, t, b.MaxTokens)
	}
	if p := float64(b.nanos.Load()) / 1e9; b.MaxPrice > 0 && p >= b.MaxPrice {
		return fmt.Errorf("%w: %.4f of at most %.4f are spent", msg.ErrCeiling, p, b.MaxPrice)
	}
	return nil
}
