package turn

import (
	"encoding/json"
	"hash/maphash"
	"strings"

	"clm/actors/msg"
	"clm/llm"
)

// repeats counts identical calls with identical results.
type repeats map[uint64]*alike

// alike is the calls of one tool that had the same result. Their arguments are
// compared only when there are enough of them to matter: most results differ.
type alike struct {
	early []string // the arguments of the first of them
	same  map[string]int
}

var repeatSeed = maphash.MakeSeed()

// count adds a call, and says how often it was made with these arguments and
// this result; what is below tellRepeats need not be exact.
func (r repeats) count(call llm.ToolCall, result *msg.ToolDone) int {
	var h maphash.Hash
	h.SetSeed(repeatSeed)
	h.WriteString(call.Name)
	h.WriteByte(0)
	h.WriteString(result.Text)
	a := r[h.Sum64()]
	if a == nil {
		a = &alike{}
		r[h.Sum64()] = a
	}
	a.early = append(a.early, call.Args)
	if a.same == nil && len(a.early) < tellRepeats {
		return 0
	}
	if a.same == nil {
		a.same = map[string]int{}
	}
	k := 0
	for _, args := range a.early {
		k = a.add(args)
	}
	a.early = a.early[:0]
	return k
}

func (a *alike) add(args string) int {
	args = canonical(args)
	a.same[args]++
	return a.same[args]
}

// canonical is arguments without the differences that mean nothing: the order
// of members, white space, escapes. Numbers stay as they are written.
func canonical(args string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return args
	}
	out, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return string(out)
}
