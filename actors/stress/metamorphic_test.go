package stress_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
	"clm/llm/llmtest"
)

// TestMetamorphic has agents do random things against a server that does random
// things, and compares them with a simple model of what an agent promises.
//
// CLM_METAMORPHIC=10m goes on with other seeds for that long, 200 agents and
// 10,000 operations each; CLM_METAMORPHIC_SEED=N repeats one of them.
func TestMetamorphic(t *testing.T) {
	agents, operations := 40, 30
	deadline := time.Now()
	if s := os.Getenv("CLM_METAMORPHIC"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		deadline, agents, operations = time.Now().Add(d), 200, 50
	}
	seed, fixed := uint64(time.Now().UnixNano()), false
	if s := os.Getenv("CLM_METAMORPHIC_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed, fixed = n, true
	}
	rounds := 0
	for ; ; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { metamorphic(t, seed, agents, operations) })
		})
		rounds++
		if t.Failed() || fixed || time.Now().After(deadline) {
			break
		}
	}
	if t.Failed() {
		t.Logf("CLM_METAMORPHIC_SEED=%d repeats it", seed)
	} else if rounds > 1 {
		t.Logf("%d rounds of %d operations", rounds, agents*operations)
	}
}

func metamorphic(t *testing.T, seed uint64, agents, operations int) {
	c := &chaos{seed: seed, asked: map[string]uint64{}}
	wire := llmtest.NewTransport(c)
	o := actors.Options{Transport: wire}
	if seed%2 == 0 { // most turns wait before they begin
		o.MaxTurns, o.MaxQueued = agents/5, agents
	}
	engine, err := actors.Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	sets := []*actors.Toolset{chaosSet(t, 1), chaosSet(t, 2)}
	var wg sync.WaitGroup
	for i := range agents {
		a := &actorModel{T: t, engine: engine, sets: sets, id: "a" + strconv.Itoa(i+1), rnd: rand.New(rand.NewPCG(seed, uint64(i))), calm: i%4 == 0}
		wg.Go(func() { a.live(operations) })
	}
	wg.Wait()
	if err := engine.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	wire.Wait()
	for _, k := range engine.Counts() {
		if k.Live != 0 {
			t.Errorf("after the end %d actors of kind %s are alive", k.Live, k.Kind)
		}
	}
	if l := engine.Load(); l != (actors.Load{}) {
		t.Errorf("after the end the load is %+v", l)
	}
	if live, abandoned := engine.Goroutines(); live+abandoned+c.active.Load() != 0 {
		t.Errorf("after the end %d goroutines are alive, %d abandoned, %d requests open", live, abandoned, c.active.Load())
	}
	for _, w := range c.wrong {
		t.Error(w)
	}
	time.Sleep(time.Second) // past the actor system's dead-letter throttle
}

// actorModel drives one agent and knows what it must do.
type actorModel struct {
	*testing.T
	engine *actors.Engine
	sets   []*actors.Toolset
	id     string
	rnd    *rand.Rand
	calm   bool // never cancels, compacts or clears: then no text may get lost

	agent    *actors.Agent
	listener *actors.Listener
	tools    map[string]bool // as they must be
	accepted map[uint64]bool // turns that Submit and Compact promised, true when they have ended
	last     uint64          // newest turn that was seen or promised
	busy     bool            // a turn may be in flight
	waiting  int             // texts that may start a turn by themselves
	seq      uint64
	shadow   []llm.Message // the conversation by its events
	unknown  bool          // shadow is not known
	asked    map[uint64]bool
	texts    []string // that must be in the conversation once
	said     int
}

func (a *actorModel) wrong(format string, args ...any) {
	a.Helper()
	a.Errorf("%s: %s", a.id, fmt.Sprintf(format, args...))
}

func (a *actorModel) live(operations int) {
	a.spawn()
	for range operations {
		a.operate()
		a.read(time.Duration(a.rnd.IntN(3000)) * time.Millisecond)
		if a.Failed() {
			break
		}
	}
	a.settle()
	a.inspect()
	a.leave()
}

func (a *actorModel) spawn() {
	var err error
	a.agent, err = a.engine.Spawn(context.Background(), actors.AgentOptions{
		ID: a.id, Tools: a.sets[0], NoStream: a.rnd.IntN(4) == 0, Sequential: a.rnd.IntN(4) == 0,
		Model: a.model(1), Permissions: actors.Permissions{Ask: true}, MaxIterations: 20,
	})
	if err != nil {
		a.Fatal(err)
	}
	if a.listener, err = a.agent.Listen(); err != nil {
		a.Fatal(err)
	}
	a.accepted, a.asked = map[uint64]bool{}, map[uint64]bool{}
	a.useSet(a.sets[0])
}

func (a *actorModel) model(n int) actors.Model {
	window := int64(1_000_000)
	if !a.calm {
		window = 4000 // compacts between batches
	}
	return actors.Model{Connection: llm.Connection{URL: "http://model" + strconv.Itoa(n) + "/v1"}, ID: "chaos", ContextSize: window}
}

func (a *actorModel) useSet(s *actors.Toolset) {
	a.tools = map[string]bool{}
	for _, t := range s.List() {
		a.tools[t.Name] = true
	}
}

func (a *actorModel) text(kind string) string {
	a.said++
	return fmt.Sprintf("[%s %s.%d] words", kind, a.id, a.said)
}

// operate does one random thing and compares its answer with what may be.
func (a *actorModel) operate() {
	switch k := a.rnd.IntN(100); {
	case k < 40:
		text := a.text("ask")
		n, err := a.agent.Submit(text)
		a.started("submit", n, err, text)
	case k < 52:
		a.cancel()
	case k < 60:
		text := a.text("note")
		a.must("notify", a.agent.Notify(text))
		a.pending(text)
	case k < 67:
		text := a.text("steer")
		_, err := a.agent.Steer(text)
		a.must("steer", err)
		a.pending(text)
	case k < 72:
		if !a.calm {
			n, err := a.agent.Compact()
			a.started("compact", n, err, "")
		}
	case k < 76:
		a.between("set model", a.agent.SetModel(context.Background(), a.model(1+a.rnd.IntN(2))))
	case k < 88:
		a.changeTools(k)
	case k < 91:
		a.must("check", a.agent.CheckConnection())
	case k < 94:
		if !a.calm {
			if err := a.agent.ClearHistory(); a.between("clear", err) {
				a.drainQuietly()
				a.shadow, a.unknown, a.texts = nil, false, nil
			}
		}
	case k < 98:
		a.inspect()
	default:
		_, _ = a.agent.Tree(), a.engine.Counts() // from any goroutine, at any time
	}
}

func (a *actorModel) must(what string, err error) {
	if err != nil {
		a.wrong("%s: %v", what, err)
	}
}

// idle tells that no turn can be in flight: all that began was seen to end.
func (a *actorModel) idle() bool { return !a.busy && a.waiting == 0 }

// started judges the answer to a submit or compact.
func (a *actorModel) started(what string, n uint64, err error, text string) {
	switch {
	case err == nil:
		if n <= a.last && a.idle() {
			a.wrong("%s promised turn %d, and turn %d was before", what, n, a.last)
		}
		if _, twice := a.accepted[n]; twice {
			a.wrong("%s promised turn %d twice", what, n)
		}
		a.accepted[n] = false
		a.busy, a.last = true, max(a.last, n)
		if text != "" {
			a.texts = append(a.texts, text)
		}
	case errors.Is(err, actors.ErrBusy):
		if a.idle() {
			a.wrong("%s while nothing ran: %v", what, err)
		}
	default:
		a.wrong("%s: %v", what, err)
	}
}

func (a *actorModel) pending(text string) {
	a.waiting++
	a.texts = append(a.texts, text)
}

func (a *actorModel) cancel() {
	if a.calm {
		return
	}
	switch err := a.agent.Cancel(); {
	case err == nil && a.idle():
		a.wrong("cancel found a turn where none ran")
	case err != nil && !errors.Is(err, actors.ErrNoTurn):
		a.wrong("cancel: %v", err)
	}
}

// between judges what may be done between turns only.
func (a *actorModel) between(what string, err error) bool {
	if errors.Is(err, actors.ErrBusy) && !a.idle() {
		return false
	}
	a.must(what, err)
	return err == nil
}

func (a *actorModel) changeTools(k int) {
	extra := actors.Tool{Name: "extra", NoPrompt: true, Run: func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
		return actors.ToolOutput{Text: "extra"}, nil
	}}
	switch {
	case k < 80:
		if err := a.agent.AddTool(extra); (err == nil) == a.tools["extra"] {
			a.wrong("a tool was added, it was there: %v, error %v", a.tools["extra"], err)
		}
		a.tools["extra"] = true
	case k < 84:
		name := chaosTools[a.rnd.IntN(len(chaosTools))]
		if err := a.agent.RemoveTool(name); (err == nil) != a.tools[name] {
			a.wrong("tool %s was removed, it was there: %v, error %v", name, a.tools[name], err)
		}
		delete(a.tools, name)
	default:
		s := a.sets[a.rnd.IntN(len(a.sets))]
		a.must("set tools", a.agent.SetTools(s))
		a.useSet(s)
	}
}

// read takes up events for some time. Sometimes it does not: a stalled listener.
func (a *actorModel) read(d time.Duration) {
	if a.rnd.IntN(5) == 0 {
		time.Sleep(d)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	for {
		e, err := a.listener.Next(ctx)
		if err != nil {
			return
		}
		a.event(e)
	}
}

func (a *actorModel) drainQuietly() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		e, err := a.listener.Next(ctx)
		if err != nil {
			return
		}
		a.event(e)
	}
}

func (a *actorModel) event(e actors.Event) {
	if e.Seq <= a.seq {
		a.wrong("event %d comes after %d", e.Seq, a.seq)
	}
	if e.Agent != a.id {
		a.wrong("an event of %s", e.Agent)
	}
	a.seq = e.Seq
	if e.Turn != 0 {
		if a.accepted[e.Turn] {
			a.wrong("an event of turn %d comes after its end: %+v", e.Turn, e.Data)
		}
		a.last = max(a.last, e.Turn)
	}
	switch d := e.Data.(type) {
	case msg.MessageAdded:
		a.shadow = append(a.shadow, d.Message)
	case msg.Compaction:
		if d.Phase == "succeeded" {
			a.unknown, a.texts = true, nil
		}
	case msg.PermissionAsked:
		a.asked[d.ID] = true
		a.answer(d.ID)
	case msg.PermissionSettled:
		if !a.asked[d.ID] {
			a.wrong("question %d is settled, it is not open", d.ID)
		}
		delete(a.asked, d.ID)
	case msg.TurnDone:
		a.done(e.Turn, d)
	}
}

func (a *actorModel) answer(id uint64) {
	answers := []msg.PermitAnswer{msg.AllowOnce, msg.AllowAlways, msg.DenyOnce, msg.DenyAlways, msg.AllowOnce}
	answer := answers[a.rnd.IntN(len(answers))]
	if err := a.agent.Permit(id, answer); err != nil && !errors.Is(err, actors.ErrNoQuestion) {
		a.wrong("permit: %v", err)
	}
}

func (a *actorModel) done(turn uint64, d msg.TurnDone) {
	if a.accepted[turn] {
		a.wrong("turn %d ended twice", turn)
	}
	a.accepted[turn] = true
	if len(a.asked) > 0 {
		a.wrong("turn %d ended with %d open question(s)", turn, len(a.asked))
	}
	if d.Status == "canceled" {
		if a.calm {
			a.wrong("turn %d was cancelled by nobody", turn)
		}
		a.texts = nil // what was queued behind it is dropped, too
	}
	if d.Status == "failed" && d.Kind == "panic" {
		a.wrong("turn %d panicked: %s", turn, d.Error)
	}
	if turn == a.last {
		a.busy = d.Pending > 0
		if !a.busy && a.waiting > 0 && a.quiet() {
			a.waiting = 0
		}
	}
}

// quiet asks the agent itself whether nothing runs, when texts that were sent
// meanwhile may have begun turns that were not seen yet.
func (a *actorModel) quiet() bool {
	for _, k := range a.agent.Tree().Children {
		if k.Kind == "turn" {
			return false
		}
	}
	return a.agent.State() != msg.StateThinking
}

// settle waits until nothing is going on. Virtual time: an hour is long.
func (a *actorModel) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for {
		a.drainQuietly()
		_, err := a.agent.History()
		if err == nil {
			a.drainQuietly()
			break
		}
		if !errors.Is(err, actors.ErrBusy) || a.Failed() {
			a.wrong("settling: %v", err)
			return
		}
		if !a.calm {
			a.cancel()
		}
		if ctx.Err() != nil {
			a.wrong("a turn does not end: %+v", a.agent.Tree())
			return
		}
		a.read(time.Second)
	}
	a.busy, a.waiting = false, 0
	for turn, ended := range a.accepted {
		if !ended {
			a.wrong("turn %d was promised and did not end; the last one is %d", turn, a.last)
		}
	}
}

// inspect compares the conversation with what its events said.
func (a *actorModel) inspect() {
	h, err := a.agent.History()
	if !a.between("history", err) {
		return
	}
	if why := validPairs(h); why != "" {
		a.wrong("the conversation is not valid: %s", why)
	}
	a.drainQuietly()
	if a.busy || a.unknown {
		return
	}
	again, err := a.agent.History()
	if err != nil || len(again) != len(h) {
		return // it went on meanwhile
	}
	if len(h) != len(a.shadow) {
		a.wrong("the conversation has %d messages, its events told %d", len(h), len(a.shadow))
		return
	}
	for i := range h {
		if h[i].Role != a.shadow[i].Role || h[i].Content != a.shadow[i].Content || h[i].ToolCallID != a.shadow[i].ToolCallID || !reflect.DeepEqual(h[i].ToolCalls, a.shadow[i].ToolCalls) {
			a.wrong("message %d is %+v, its event told %+v", i, h[i], a.shadow[i])
			return
		}
	}
	if a.idle() {
		a.holdsTexts(h)
	}
}

// holdsTexts checks that whatever was said is in the conversation once.
func (a *actorModel) holdsTexts(h []llm.Message) {
	all := ""
	for _, m := range h {
		if m.Role == llm.RoleUser {
			all += m.Content + "\n"
		}
	}
	for _, text := range a.texts {
		if n := countText(all, text); n != 1 {
			a.wrong("%q is %d times in the conversation: %q", text, n, all)
		}
	}
}

func (a *actorModel) leave() {
	a.listener.Close()
	if err := a.agent.Stop(context.Background()); err != nil {
		a.wrong("stop: %v", err)
	}
	if t := a.agent.Tree(); len(t.Children) > 0 || len(t.Effects) > 0 {
		a.wrong("after its end: %+v", t)
	}
	if _, err := a.agent.Submit("x"); !errors.Is(err, actors.ErrStopped) {
		a.wrong("submit after the end: %v", err)
	}
}
