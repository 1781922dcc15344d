package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// declared lists a package's exported names, methods as Type.Method.
func declared(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	names := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			addDecl(names, d)
		}
	}
	return names
}

func addDecl(names map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil && len(d.Recv.List) == 1 {
			typ := d.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			if id, ok := typ.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		names[name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names[s.Name.Name] = true
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			}
		}
	}
}

// TestManEmbed holds that what clm-embed(7) names exists.
func TestManEmbed(t *testing.T) {
	text := page(t, "clm-embed")
	actors, messages, models := declared(t, "../../actors"), declared(t, "../../actors/msg"), declared(t, "../../llm")
	for _, m := range regexp.MustCompile(`\b(actors|msg|llm|Engine|Agent)\.([A-Z]\w*)|\b(Err[A-Z]\w*)`).FindAllStringSubmatch(text, -1) {
		ok := false
		switch m[1] {
		case "actors":
			ok = actors[m[2]]
		case "msg":
			ok = messages[m[2]]
		case "llm":
			ok = models[m[2]]
		case "Engine", "Agent":
			ok = actors[m[1]+"."+m[2]]
		default:
			ok = actors[m[3]]
		}
		if !ok {
			t.Errorf("clm-embed(7) names %s, which does not exist", m[0])
		}
	}
}

// TestEvents holds clm(1) and the schema to the events that exist.
func TestEvents(t *testing.T) {
	b, err := os.ReadFile("../../actors/msg/commands.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"outcome": true}
	for _, m := range regexp.MustCompile(`EventName\(\) string\s*\{ return "(\w+)" \}`).FindAllStringSubmatch(string(b), -1) {
		names[m[1]] = true
	}
	if len(names) < 15 {
		t.Fatalf("only %v were found", names)
	}
	_, section, _ := strings.Cut(page(t, "clm"), "EVENTS\n")
	section, _, _ = strings.Cut(section, "EXIT STATUS\n")
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ {4}(\w+)$`).FindAllStringSubmatch(section, -1) {
		listed[m[1]] = true
		if !names[m[1]] {
			t.Errorf("clm(1) describes the event %s, which does not exist", m[1])
		}
	}
	for name := range names {
		if !listed[name] {
			t.Errorf("clm(1) lacks the event %s", name)
		}
		if !strings.Contains(eventSchema, `{ "const": "`+name+`" }`) || !strings.Contains(eventSchema, `"#/$defs/`+name+`"`) {
			t.Errorf("the schema lacks the event %s", name)
		}
	}
}
