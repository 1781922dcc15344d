package stress

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"clm/actors"
	"clm/actors/metrics"
	"clm/llm"
)

// run is a run of a load.
type run struct {
	opts     *Options
	embedded bool
	llm      *model // the embedded model
	tool     string // that turns call
	ownTool  bool   // it is hello as it is here, called by the embedded model: its results are known
	model    actors.Model
	wire     *wire
	engine   *actors.Engine
	stats    *stats
	sampler  *sampler
	usual    usual

	metrics   *metrics.Collector // nil: nobody wants them
	unobserve func() error

	hard     context.Context // ends when nothing is waited for any more
	patience context.Context // ends when turns in flight are cut

	subjects sync.Map // number -> *subject
	numbers  atomic.Uint64
	places   atomic.Uint64
	agents   atomic.Int64
	inFlight atomic.Int64

	mu         sync.Mutex
	violations []Violation
	violated   int64
}

const maxViolations = 100

// endTime bounds the end of a run after its turns were cut: nothing of the
// engine takes longer.
const endTime = 30 * time.Second

// Run puts agents under load and reports. When ctx ends, the run is cut short
// and reported all the same. The error is a *[ViolationError] when promises of
// the engine were not kept; without a report it says why nothing could run.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.defaults()
	before := runtime.NumGoroutine()
	began := time.Now()
	r, err := start(&o)
	if err != nil {
		return nil, err
	}
	report := &Report{Seed: o.Seed, Began: began, Load: describe(&o), Goroutines: GoroutineCount{Before: before}}
	r.rounds(ctx, report)
	r.stop(report)
	r.fill(report)
	if r.violated > 0 {
		return report, &ViolationError{Count: r.violated, First: r.violations, Seed: o.Seed}
	}
	return report, nil
}

// start makes the engine and the model.
func start(o *Options) (*run, error) {
	r := &run{opts: o, embedded: o.Model.ID == "", stats: newStats(), model: o.Model, hard: context.Background()}
	if o.Toolset == nil && (o.Tools.Share > 0 || r.embedded) {
		r.ownTool = r.embedded && o.Tools.Args == ""
		set, err := helloTools()
		if err != nil {
			return nil, err
		}
		o.Toolset = set
	}
	if err := r.chooseTool(); err != nil {
		return nil, err
	}
	r.usual.ns.Store(int64(time.Duration(o.Tokens)*o.Pace + 2*time.Millisecond))
	r.wire = &wire{opts: o, agent: r.subject}
	engine := o.Engine
	if engine.Transport == nil {
		engine.Transport = llm.NewTransport()
	}
	if engine.Grace == 0 {
		engine.Grace = time.Minute // a starved machine is no leak
	}
	r.wire.other, r.wire.next = engine.Transport, engine.Transport
	if r.embedded {
		r.llm = newModel(o, r.tool, r.violate)
		r.wire.next = r.llm
		r.model = actors.Model{Connection: llm.Connection{Name: "stress", Kind: llm.KindOpenAI, URL: embeddedURL}, ID: "stress", ContextSize: o.Window}
	}
	r.wire.host = hostOf(r.model.Connection.URL)
	engine.Transport = r.wire
	var err error
	if r.engine, err = actors.Start(context.Background(), engine); err != nil {
		return nil, fmt.Errorf("stress: %w", err)
	}
	if err := r.observe(); err != nil {
		return nil, err
	}
	r.sampler = newSampler(r)
	return r, nil
}

// observe has the engine's metrics served, if anyone wants them.
func (r *run) observe() error {
	if r.opts.Observe == nil {
		return nil
	}
	r.metrics = metrics.New(r.engine)
	var err error
	if r.unobserve, err = r.opts.Observe(r.metrics); err != nil {
		return errors.Join(err, r.engine.Stop(context.Background()))
	}
	return nil
}

// helloTools is the toolset of a run that names none.
func helloTools() (*actors.Toolset, error) {
	p, errs := actors.LoadPlugins(context.Background(), actors.PluginOptions{Files: []actors.PluginFile{{Name: "hello", Source: helloPlugin}}})
	if len(errs) > 0 {
		return nil, fmt.Errorf("stress: %w", errs[0])
	}
	return actors.NewToolset(p)
}

func (r *run) chooseTool() error {
	want := r.opts.Tools.Name
	for _, t := range r.opts.Toolset.List() {
		if !t.Hidden && (want == "" || want == t.Name) {
			r.tool = t.Name
			return nil
		}
	}
	switch {
	case want != "":
		return fmt.Errorf("stress: there is no tool %q to call", want)
	case r.opts.Tools.Share > 0:
		return errors.New("stress: turns shall call tools, and there are none; give a plugin")
	}
	return nil
}

// rounds makes the rounds of the run.
func (r *run) rounds(ctx context.Context, report *Report) {
	hard, stop := context.WithCancel(context.Background())
	defer stop()
	r.hard = hard
	pool := make(chan *subject, r.opts.Agents)
	for n := range r.opts.Rounds {
		before := r.sampler.mark()
		r.round(ctx, pool, stop)
		report.round(r, before)
		last := n+1 == r.opts.Rounds || ctx.Err() != nil
		if last {
			r.sampler.after()
		}
		if r.opts.Rounds > 1 {
			r.forget(pool)
			report.Rounds[n].Heap, _ = liveMemory()
			report.Rounds[n].Goroutines = runtime.NumGoroutine()
		}
		if last {
			break
		}
	}
	report.Interrupted = ctx.Err() != nil
	r.close(pool)
}

// round has the agents make their turns.
func (r *run) round(ctx context.Context, pool chan *subject, giveUp func()) {
	patience, cut := context.WithCancel(r.hard)
	defer cut()
	r.patience = patience
	undo := context.AfterFunc(ctx, cut)
	defer undo()
	l := newLoad(r, pool)
	if r.opts.Ramp == 0 {
		l.ramp(ctx)
		r.sampler.fresh()
	}
	r.sampler.resume()
	l.dispatch(ctx)
	drain := time.AfterFunc(r.opts.Drain, cut)
	defer drain.Stop()
	last := time.AfterFunc(r.opts.Drain+endTime, giveUp)
	l.flight.Wait()
	last.Stop()
	r.sampler.pause()
	l.settle()
}

// forget empties the conversations after a round.
func (r *run) forget(pool chan *subject) {
	for range len(pool) {
		s := <-pool
		r.inspect(s)
		if err := s.agent.ClearHistory(); err != nil {
			r.violate(s.number, uint64(s.turns), "the conversation cannot be emptied between turns: "+err.Error())
		}
		s.pairs = pairs{}
		pool <- s
	}
}

// close ends the agents.
func (r *run) close(pool chan *subject) {
	for range len(pool) {
		s := <-pool
		r.drained(s)
		r.leave(s)
	}
}

func (r *run) violate(agent, turn uint64, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violated++
	if len(r.violations) < maxViolations {
		r.violations = append(r.violations, Violation{agent, turn, llm.Clip(what, 2000)})
	}
}

// load decides which agent makes a turn when.
type load struct {
	*run
	pool   chan *subject // agents that may make a turn
	slots  chan struct{} // closed loop: turns that may be in flight
	arrive *rand.Rand
	flight sync.WaitGroup
	done   chan struct{} // closed when all turns were made
	left   atomic.Int64  // agents with turns to make
	ended  []*subject    // agents that have made theirs
	endMu  sync.Mutex
	paused sync.WaitGroup // agents between two turns
	pauses map[*subject]*time.Timer
	begun  time.Time
}

func newLoad(r *run, pool chan *subject) *load {
	l := &load{run: r, pool: pool, arrive: rng(r.opts.Seed, 0, 1), done: make(chan struct{}), pauses: map[*subject]*time.Timer{}, begun: time.Now()}
	if r.opts.Rate == 0 {
		l.slots = make(chan struct{}, r.opts.Concurrency)
	}
	l.left.Store(int64(r.opts.Agents))
	for range len(pool) { // a later round
		s := <-pool
		s.made = 0
		pool <- s
	}
	return l
}

var errOver = errors.New("the run is over")

// dispatch starts turns until their time or number is over.
func (l *load) dispatch(ctx context.Context) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if d := l.opts.Duration; d > 0 {
		timer := time.AfterFunc(d, func() { stop(errOver) })
		defer timer.Stop()
	}
	var ramp sync.WaitGroup
	if l.opts.Ramp > 0 {
		ramp.Go(func() { l.ramp(ctx) })
	}
	defer ramp.Wait()
	defer stop(errOver) // before the wait for the ramp
	due := time.Now()
	for {
		if due = l.next(ctx, due); ctx.Err() != nil {
			return
		}
		select {
		case s := <-l.pool:
			if l.slots != nil {
				due = time.Now()
			}
			at := due
			l.flight.Go(func() { l.one(s, at) })
		case <-l.done:
			return
		case <-ctx.Done():
			l.late(due)
			return
		}
	}
}

// next waits until another turn is due and gives that time. In an open loop it
// may be long past, when no agent was free.
func (l *load) next(ctx context.Context, last time.Time) time.Time {
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
		case <-l.done:
		case <-ctx.Done():
		}
		return time.Now()
	}
	due := last.Add(time.Duration(min(l.arrive.ExpFloat64(), 20) / l.opts.Rate * float64(time.Second)))
	if pause(ctx, time.Until(due)) != nil && time.Until(due) < 0 {
		l.late(due)
	}
	return due
}

// late counts the turns that were due and could not start before the end.
func (l *load) late(due time.Time) {
	if l.slots == nil {
		if behind := time.Since(due); behind > 0 {
			l.sampler.unstarted.Add(1 + int64(behind.Seconds()*l.opts.Rate))
		}
	}
}

// ramp spawns the agents that are missing, evenly over the ramp's time.
func (l *load) ramp(ctx context.Context) {
	missing := l.opts.Agents - int(l.agents.Load())
	for i := range missing {
		if l.opts.Ramp > 0 {
			at := l.begun.Add(l.opts.Ramp * time.Duration(i) / time.Duration(missing))
			if pause(ctx, time.Until(at)) != nil {
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		l.enter(l.places.Add(1), 0, 0)
	}
}

// enter spawns an agent and has it wait for its first turn. Others at its place
// have made nth turns, and made in this round.
func (l *load) enter(place, nth uint64, made int) {
	s, err := l.spawn(place, nth)
	switch {
	case err == nil:
		s.made = made
		l.pool <- s
		return
	case errors.Is(err, actors.ErrOverloaded):
		l.stats.refuse("agents")
	default:
		l.violate(0, 0, "an agent could not be spawned: "+err.Error())
	}
	l.leftOne()
}

// one makes a turn and says when the agent is free again.
func (l *load) one(s *subject, due time.Time) {
	p := l.turn(s, due)
	s.made++
	if l.slots != nil {
		<-l.slots
	}
	switch {
	case l.opts.Turns > 0 && s.made == l.opts.Turns:
		l.endMu.Lock()
		l.ended = append(l.ended, s)
		l.endMu.Unlock()
		l.leftOne()
	case p.leave:
		l.leave(s)
		l.enter(s.place, s.nth, s.made)
	case p.think > 0:
		l.pause(s, p.think)
	default:
		l.pool <- s
	}
}

func (l *load) leftOne() {
	if l.left.Add(-1) == 0 {
		close(l.done)
	}
}

// pause keeps an agent out of the pool for a time, or until the round's end.
func (l *load) pause(s *subject, d time.Duration) {
	l.endMu.Lock()
	defer l.endMu.Unlock()
	l.paused.Add(1)
	l.pauses[s] = time.AfterFunc(d, func() { l.wake(s) })
}

func (l *load) wake(s *subject) {
	l.endMu.Lock()
	timer := l.pauses[s]
	delete(l.pauses, s)
	l.endMu.Unlock()
	if timer == nil {
		return // woken before
	}
	timer.Stop()
	l.pool <- s
	l.paused.Done()
}

// settle has all agents in the pool again.
func (l *load) settle() {
	l.endMu.Lock()
	asleep := slices.Collect(maps.Keys(l.pauses))
	l.endMu.Unlock()
	for _, s := range asleep {
		l.wake(s)
	}
	l.paused.Wait()
	for _, s := range l.ended {
		l.pool <- s
	}
}
