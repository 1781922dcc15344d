package stress

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"clm/luavm"
)

// Scenario reads a load from Lua source: a file that returns a table of the
// command's options, for example
//
//	return {
//	  agents = 200, duration = "30s", ramp = "5s",
//	  tools = { share = 0.3, calls = 2 },
//	  cancel = 0.1, faults = { cut = 0.01, ["429"] = 0.02 },
//	}
//
// or a list of such tables: phases, one after the other. Times are texts like
// "1m30s" or numbers of seconds. What base holds is kept where the file says
// nothing. Phases are runs of their own.
func Scenario(name, source string, base Options) ([]Options, error) {
	v, err := luavm.EvalConfig(name, source, nil)
	if err != nil {
		return nil, err
	}
	var phases []any
	switch v := v.(type) {
	case map[string]any:
		phases = []any{v}
	case []any:
		phases = v
	}
	if len(phases) == 0 {
		return nil, fmt.Errorf("%s: a scenario returns a table of options, or a list of such tables", name)
	}
	var out []Options
	for i, p := range phases {
		t, ok := p.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s: phase %d is no table of options", name, i+1)
		}
		o := base
		if err := o.apply(t); err != nil {
			return nil, fmt.Errorf("%s: phase %d: %w", name, i+1, err)
		}
		if err := o.check(); err != nil {
			return nil, fmt.Errorf("%s: phase %d: %w", name, i+1, err)
		}
		out = append(out, o)
	}
	return out, nil
}

// apply sets what a table says.
func (o *Options) apply(t map[string]any) error {
	fields := map[string]any{
		"agents": &o.Agents, "turns": &o.Turns, "duration": &o.Duration, "ramp": &o.Ramp, "rate": &o.Rate,
		"concurrency": &o.Concurrency, "think": &o.Think, "tokens": &o.Tokens, "token_delay": &o.Pace, "window": &o.Window,
		"cancel": &o.Cancel, "churn": &o.Churn, "seed": &o.Seed, "check": &o.Check, "rounds": &o.Rounds, "drain": &o.Drain,
		"system": &o.System, "prompt": &o.Prompt, "admit": map[string]any{"running": &o.Engine.MaxTurns, "queued": &o.Engine.MaxQueued}, "tools": map[string]any{
			"share": &o.Tools.Share, "calls": &o.Tools.Calls, "chain": &o.Tools.Chain, "name": &o.Tools.Name, "args": &o.Tools.Args,
		},
		"faults": map[string]any{
			"cut": &o.Faults.Cut, "429": &o.Faults.RateLimit, "500": &o.Faults.Error, "slow": &o.Faults.Slow,
			"garbage": &o.Faults.Garbage, "slowby": &o.Faults.SlowBy,
		},
	}
	if err := assign("", t, fields); err != nil {
		return err
	}
	if o.Engine.MaxQueued > 0 && o.Engine.MaxTurns == 0 {
		return errors.New("admit: turns are queued only when there is a limit for those that run; give running too")
	}
	return nil
}

// never0 are the options of which 0 means the default in [Options]: whoever
// writes it down means something else.
var never0 = []string{"agents", "tokens", "window", "check", "rounds", "drain", "seed", "tools.calls", "faults.slowby", "admit.running"} // not changed

func assign(path string, t map[string]any, fields map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(t)) {
		where := strings.TrimPrefix(path+"."+key, ".")
		field, known := fields[key]
		if !known {
			return fmt.Errorf("%s: unknown option; there are %s", where, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		if inner, ok := field.(map[string]any); ok {
			sub, ok := t[key].(map[string]any)
			if !ok {
				return fmt.Errorf("%s: is %v, must be a table; there are %s", where, t[key], strings.Join(slices.Sorted(maps.Keys(inner)), ", "))
			}
			if err := assign(where, sub, inner); err != nil {
				return err
			}
			continue
		}
		if why := assignOne(field, t[key]); why != "" {
			return fmt.Errorf("%s: is %v, %s", where, t[key], why)
		}
		if reflect.ValueOf(field).Elem().IsZero() && slices.Contains(never0, where) {
			return fmt.Errorf("%s: is %v, must be more than 0; leave it out for the default", where, t[key])
		}
	}
	return nil
}

// assignOne stores a value, or says what it should be.
func assignOne(field, value any) string {
	number, isNumber := value.(float64)
	if n, ok := value.(int64); ok {
		number, isNumber = float64(n), true
	}
	switch f := field.(type) {
	case *time.Duration:
		if text, ok := value.(string); ok {
			d, err := time.ParseDuration(text)
			*f = d
			isNumber = err == nil
		} else {
			*f = time.Duration(number * float64(time.Second))
		}
		if !isNumber {
			return `must be a time like "1m30s" or a number of seconds`
		}
	case *string:
		text, ok := value.(string)
		if *f = text; !ok {
			return "must be a text"
		}
	case *bool:
		b, ok := value.(bool)
		if *f = b; !ok {
			return "must be true or false"
		}
	case *float64:
		if *f = number; !isNumber {
			return "must be a number"
		}
	default:
		n, ok := value.(int64)
		if !ok || n < 0 {
			return "must be a whole number"
		}
		switch f := field.(type) {
		case *int:
			*f = int(n)
		case *int64:
			*f = n
		case *uint64:
			*f = uint64(n)
		}
	}
	return ""
}
