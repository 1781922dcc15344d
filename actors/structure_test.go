package actors_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// imports says which packages of the module a package may import. A pattern
// that ends in /... means the package and all below it. The first row that
// matches counts.
var imports = []struct{ pkg, may string }{
	{"clm/logging", ""},
	{"clm/config", "clm/luavm"},
	{"clm/llm", "clm/llm/internal/..."},
	{"clm/llm/provider", "clm/llm/..."},
	{"clm/llm/llmtest/...", "clm/llm/..."},
	{"clm/llm/...", "clm/llm clm/llm/internal/... clm/llm/llmtest/..."},
	{"clm/luavm", "clm/luavm/internal/..."},
	{"clm/luavm/...", "clm/luavm/..."},
	{"clm/actors/msg", "clm/llm"},
	{"clm/actors/internal/family", ""},
	{"clm/actors/internal/tool", ""},
	{"clm/actors/internal/vm", "clm/luavm"},
	{"clm/actors/internal/glob", ""},
	{"clm/actors/internal/proc", ""},
	{"clm/actors/internal/files", "clm/actors/internal/glob"},
	{"clm/actors/internal/schema", "clm/llm"},
	{"clm/actors/internal/permit", "clm/actors/internal/glob"},
	{"clm/actors/internal/...", "clm/actors/msg clm/actors/internal/family clm/actors/internal/tool clm/actors/internal/vm " +
		"clm/actors/internal/files clm/actors/internal/proc clm/actors/internal/schema clm/llm clm/luavm"},
	{"clm/actors", "clm/actors/msg clm/actors/internal/... clm/llm clm/llm/provider clm/llm/record clm/luavm"},
	{"clm/actors/...", "clm/actors/... clm/llm/... clm/luavm/..."},
	{"clm/cmd/...", "clm/cmd/... clm/actors/... clm/config clm/logging clm/luavm clm/luavm/plugins clm/luavm/luavmtest clm/llm clm/llm/llmtest clm/llm/record clm/llm/provider"},
}

// libraries may be imported only below these folders.
var libraries = map[string]string{
	"github.com/asynkron/protoactor-go": "clm/actors",
	"github.com/yuin/gopher-lua":        "clm/luavm",
	"github.com/knadh/koanf":            "clm/config",
	"github.com/rs/zerolog":             "clm/logging clm/cmd",
}

// edges are the packages that may start goroutines: what is slow runs there,
// is stopped and is waited for.
var edges = []string{
	"clm/actors/internal/family", "clm/actors/internal/builtin", "clm/actors/internal/proc", "clm/actors/internal/mcp",
	"clm/actors/internal/store", "clm/llm/llmtest", "clm/llm/internal/wire", "clm/actors/stress", "clm/actors/debug", "clm/cmd/",
}

// tooLong lists what may be longer than the limits. The list may only shrink.
var tooLong = map[string]bool{}

const (
	maxFunction = 60  // lines
	maxFile     = 500 // lines
)

type pkg struct {
	ImportPath, Dir string
	Imports         []string
	GoFiles         []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles", "./...")
	cmd.Dir = ".."
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, errs.String())
	}
	var pkgs []pkg
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func matches(patterns, path string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(p string) bool {
		if base, below := strings.CutSuffix(p, "/..."); below {
			return path == base || strings.HasPrefix(path, base+"/")
		}
		return path == p
	})
}

func TestImportTable(t *testing.T) {
	for _, p := range list(t) {
		row := slices.IndexFunc(imports, func(r struct{ pkg, may string }) bool { return matches(r.pkg, p.ImportPath) })
		if row < 0 {
			t.Errorf("%s is in no row of the import table", p.ImportPath)
			continue
		}
		for _, i := range p.Imports {
			if strings.HasPrefix(i, "clm/") && !matches(imports[row].may, i) {
				t.Errorf("%s may not import %s", p.ImportPath, i)
			}
			for lib, homes := range libraries {
				if strings.HasPrefix(i, lib) && !slices.ContainsFunc(strings.Fields(homes), func(h string) bool { return strings.HasPrefix(p.ImportPath, h) }) {
					t.Errorf("%s may not import %s: it belongs to %s", p.ImportPath, i, homes)
				}
			}
		}
	}
}

func TestSizes(t *testing.T) {
	seen := map[string]bool{}
	eachFile(t, func(p pkg, name string, fset *token.FileSet, f *ast.File) {
		check := func(what string, lines, limit int) {
			if lines <= limit {
				return
			}
			seen[what] = true
			if !tooLong[what] {
				t.Errorf("%s has %d lines; the limit is %d", what, lines, limit)
			}
		}
		check(name, fset.File(f.Pos()).LineCount(), maxFile)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
				check(fmt.Sprintf("%s %s", name, fn.Name.Name), lines, maxFunction)
			}
		}
	})
	for what := range tooLong {
		if !seen[what] {
			t.Errorf("%s is within the limits now: take it off the list", what)
		}
	}
}

func TestEdgesAloneStartGoroutines(t *testing.T) {
	eachFile(t, func(p pkg, name string, fset *token.FileSet, f *ast.File) {
		if slices.ContainsFunc(edges, func(e string) bool {
			return p.ImportPath == e || strings.HasPrefix(p.ImportPath, strings.TrimSuffix(e, "/")+"/")
		}) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s:%d starts a goroutine; only edges may", name, fset.Position(g.Pos()).Line)
			}
			return true
		})
	})
}

func eachFile(t *testing.T, do func(p pkg, name string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list(t) {
		for _, g := range p.GoFiles {
			path := filepath.Join(p.Dir, g)
			src, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			do(p, filepath.ToSlash(name), fset, f)
		}
	}
}
