package luavm

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
)

// toolOptions are the fields of the table that clm.tool_register takes.
var toolOptions = []string{"description", "params_schema", "timeout_ms", "no_prompt", "hidden", "invoke"}

// maxWarnings bounds what one plugin can have said about it.
const maxWarnings = 100

// checkOptions notes the fields of a definition that mean nothing. They are allowed: other programs may read them.
func (a api) checkOptions(tool string, def *lua.LTable) {
	for _, key := range layout.Keys(def) {
		name, ok := key.(lua.LString)
		if !ok || def.RawGetString(string(name)) == lua.LNil || isOption(string(name)) || len(a.v.warnings) >= maxWarnings {
			continue
		}
		text := fmt.Sprintf("tool %s: clm.tool_register has no option %s", tool, quote(string(name)))
		if right := nearestOption(string(name)); right != "" {
			text += ", did you mean " + right + "?"
		} else {
			text += ", only " + strings.Join(toolOptions, ", ")
		}
		a.v.warnings = append(a.v.warnings, text)
		if a.v.opts.Log != nil {
			a.v.opts.Log(text)
		}
	}
}

func isOption(name string) bool {
	for _, o := range toolOptions {
		if o == name {
			return true
		}
	}
	return false
}

// nearestOption is the option that was likely meant: by letters, a part of the name, or how it begins. "": none.
func nearestOption(name string) string {
	name = letters(name)
	best, most := "", 0
	for _, o := range toolOptions {
		near := 0
		switch right := letters(o); {
		case distance(name, right) <= 2:
			near = 100 - distance(name, right)
		case len(name) >= 4 && strings.Contains(right, name), strings.Contains(name, right):
			near = 50
		default:
			near = commonPrefix(name, right)
		}
		if near > most {
			best, most = o, near
		}
	}
	if most < 4 {
		return ""
	}
	return best
}

// letters is a name without what spellings differ in, cut to a length that no option comes near.
func letters(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name[:min(len(name), 40)]))
}

func commonPrefix(a, b string) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// distance is how many letters have to be added, dropped or exchanged to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, row[j]+1, last+1)
		}
	}
	return row[len(b)]
}
