package stress

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"clm/actors"
	"clm/actors/metrics"
)

// Options describe a run. The zero value is 100 agents that make one turn each
// with the embedded model.
type Options struct {
	Agents      int           // at a time; 0: 100
	Turns       int           // of each agent; 0: as many as fit into Duration, or 1 without one
	Duration    time.Duration // no turn starts after it; 0: until all turns were made
	Ramp        time.Duration // over which the agents are spawned and begin
	Rate        float64       // open loop: turns due a second, over all agents; 0: closed loop
	Concurrency int           // closed loop: most turns in flight; 0: one an agent
	Think       time.Duration // mean pause of an agent between two turns

	Toolset *actors.Toolset // nil: a plugin with the tool hello
	Tools   Tools
	Tokens  int           // words of an answer of the embedded model; 0: 20
	Pace    time.Duration // of the embedded model, before each of its words
	Window  int64         // tokens, of the embedded model: longer conversations are compacted; 0: 8192

	Cancel float64 // share of turns that are cancelled at a random moment
	Churn  float64 // share of turns after which their agent leaves and another comes
	Faults Faults
	Seed   uint64  // of all that is random in what the agents do; 0: taken from the clock
	Check  float64 // share of the embedded model's requests that are decoded whole and checked; 0: 0.05

	// Model is the model under load. Without an ID it is the embedded one.
	Model actors.Model
	// Prompt is what the agents of another model say; {tag} names the turn,
	// {tool} a tool to call. Empty: one that asks for Tokens words.
	Prompt string
	System string // system prompt

	// Rounds repeats the run with the same agents, whose conversations are
	// emptied between rounds, and compares the memory after each. 0: 1
	Rounds int

	// Drain is how long turns in flight may take after the end of the run
	// until they are cancelled. 0: 30 s
	Drain time.Duration

	// Engine is what the engine gets; its transport carries the requests to a
	// model that is not the embedded one.
	Engine actors.Options

	Interval time.Duration  // between samples; 0: 1 s
	Progress func(Progress) // called after each sample, on a goroutine of the run; nil: not
	// Observe gets the engine's metrics before the first agent is spawned, to
	// serve them; stop is called when the last has ended. nil: not.
	Observe func(c *metrics.Collector) (stop func() error, err error)
}

// Tools says how turns call tools.
type Tools struct {
	Share float64 // of turns that call
	Calls int     // a turn that calls; 0: 1
	Chain bool    // one call after the other, instead of all at once
	Name  string  // of the tool; empty: the set's first
	// Args is a JSON object; {tag} names the turn, {call} the call. Empty:
	// {"name":"{tag} {call}"} for hello, else {}. Identical calls with identical
	// results end a turn after the eighth.
	Args string
}

// ParseTools reads "SHARE", "SHARE:CALLS" or "SHARE:CALLS:chain".
func ParseTools(s string) (Tools, error) {
	bad := func(why string) (Tools, error) {
		return Tools{}, fmt.Errorf("tools %q: %s; write SHARE, SHARE:CALLS or SHARE:CALLS:chain", s, why)
	}
	parts := strings.Split(s, ":")
	share, err := parseShare(parts[0])
	if err != nil {
		return bad(err.Error())
	}
	t := Tools{Share: share, Calls: 1}
	if len(parts) > 1 {
		if t.Calls, err = strconv.Atoi(parts[1]); err != nil || t.Calls < 1 {
			return bad("the number of calls is at least 1")
		}
	}
	if len(parts) > 2 {
		if parts[2] != "chain" || len(parts) > 3 {
			return bad("the third part is chain or absent")
		}
		t.Chain = true
	}
	return t, nil
}

// Faults are shares of requests that go wrong.
type Faults struct {
	Cut       float64       // the answer's stream breaks
	RateLimit float64       // 429
	Error     float64       // 500
	Slow      float64       // the answer begins SlowBy late
	Garbage   float64       // bytes that are no answer
	SlowBy    time.Duration // 0: 1 s
}

func (f Faults) total() float64 { return f.Cut + f.RateLimit + f.Error + f.Slow + f.Garbage }

// ParseFaults reads "0.05", a share that the five kinds divide, or a list like
// "cut=0.01,429=0.02,500=0.01,slow=0.1,garbage=0.01,slowby=2s".
func ParseFaults(s string) (Faults, error) {
	var f Faults
	if s == "" {
		return f, nil
	}
	if !strings.Contains(s, "=") {
		share, err := parseShare(s)
		if err != nil {
			return f, fmt.Errorf("faults %q: %w%s", s, err, faultsForm)
		}
		p := share / 5
		return Faults{Cut: p, RateLimit: p, Error: p, Slow: p, Garbage: p}, nil
	}
	kinds := map[string]*float64{"cut": &f.Cut, "429": &f.RateLimit, "500": &f.Error, "slow": &f.Slow, "garbage": &f.Garbage}
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch p := kinds[name]; {
		case p != nil:
			*p, err = parseShare(value)
		case name == "slowby":
			f.SlowBy, err = time.ParseDuration(value)
		default:
			err = fmt.Errorf("unknown kind %q", name)
		}
		if err != nil {
			return Faults{}, fmt.Errorf("faults %q: %w%s", s, err, faultsForm)
		}
	}
	return f, nil
}

const faultsForm = "; write SHARE, or some of cut=SHARE,429=SHARE,500=SHARE,slow=SHARE,garbage=SHARE,slowby=TIME"

// ParseAdmission reads "RUNNING" or "RUNNING:QUEUED", how many turns the engine
// lets run at once and how many more wait, see [actors.Options].
func ParseAdmission(s string) (running, queued int, err error) {
	first, second, both := strings.Cut(s, ":")
	if running, err = strconv.Atoi(first); err == nil && both {
		queued, err = strconv.Atoi(second)
	}
	if err != nil || running < 1 || queued < 0 {
		return 0, 0, fmt.Errorf("admission %q: write RUNNING or RUNNING:QUEUED, numbers of turns, the first at least 1", s)
	}
	return running, queued, nil
}

func parseShare(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%q is no share between 0 and 1", s)
	}
	return v, nil
}

// The bounds of options, against slips of the pen.
const (
	maxAgents = 10_000_000
	maxCalls  = 10_000
	maxTokens = 1_000_000
	maxTime   = 10_000 * time.Hour
)

// check says what is wrong with the options.
func (o *Options) check() error {
	for _, c := range []struct {
		name         string
		v, low, high float64
	}{
		{"agents", float64(o.Agents), 0, maxAgents},
		{"turns", float64(o.Turns), 0, 1e9},
		{"rate", o.Rate, 0, 1e6},
		{"concurrency", float64(o.Concurrency), 0, maxAgents},
		{"tools share", o.Tools.Share, 0, 1},
		{"calls", float64(o.Tools.Calls), 0, maxCalls},
		{"tokens", float64(o.Tokens), 0, maxTokens},
		{"window", float64(o.Window), 0, 1e9},
		{"cancel", o.Cancel, 0, 1},
		{"churn", o.Churn, 0, 1},
		{"check", o.Check, 0, 1},
		{"cut", o.Faults.Cut, 0, 1},
		{"429", o.Faults.RateLimit, 0, 1},
		{"500", o.Faults.Error, 0, 1},
		{"slow", o.Faults.Slow, 0, 1},
		{"garbage", o.Faults.Garbage, 0, 1},
		{"faults together", o.Faults.total(), 0, 1},
		{"rounds", float64(o.Rounds), 0, 1e6},
		{"admitted turns", float64(o.Engine.MaxTurns), 0, maxAgents},
		{"queued turns", float64(o.Engine.MaxQueued), 0, maxAgents},
	} {
		if !(c.v >= c.low && c.v <= c.high) {
			return fmt.Errorf("stress: %s is %s, must be %s to %s", c.name, plain(c.v), plain(c.low), plain(c.high))
		}
	}
	for name, d := range map[string]time.Duration{
		"duration": o.Duration, "ramp": o.Ramp, "think": o.Think, "token delay": o.Pace, "slowby": o.Faults.SlowBy, "drain": o.Drain, "interval": o.Interval,
	} {
		if d < 0 || d > maxTime {
			return fmt.Errorf("stress: %s is %v, must be 0 to %v", name, d, maxTime)
		}
	}
	if err := o.checkArgs(); err != nil {
		return err
	}
	if o.Rate > 0 && o.Concurrency > 0 {
		return fmt.Errorf("stress: a rate is for an open loop and a concurrency for a closed one; give one of them")
	}
	return nil
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// checkArgs has a slip in the arguments not look like a tool that fails.
func (o *Options) checkArgs() error {
	if o.Tools.Args == "" {
		return nil
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(o.args("1.1", o.Tools.Name, 1)), &object); err != nil || object == nil {
		return fmt.Errorf(`stress: the arguments %s are no JSON object; write one like {"name":"{tag} {call}"}`, o.Tools.Args)
	}
	return nil
}

// defaults fills in what was left out.
func (o *Options) defaults() {
	set(&o.Agents, 100)
	if o.Turns == 0 && o.Duration == 0 {
		o.Turns = 1
	}
	set(&o.Concurrency, o.Agents)
	set(&o.Tools.Calls, 1)
	set(&o.Tokens, 20)
	set(&o.Window, 8192)
	set(&o.Faults.SlowBy, time.Second)
	set(&o.Check, 0.05)
	set(&o.Rounds, 1)
	set(&o.Drain, 30*time.Second)
	set(&o.Interval, time.Second)
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
}

func set[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}
