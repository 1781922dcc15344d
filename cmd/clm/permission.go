package main

import (
	"fmt"
	"slices"
	"strings"

	"clm/actors/msg"
)

// question asks the person about a call. Several may be open; they are
// answered in order.
func (r *repl) question(q msg.PermissionAsked) {
	r.asked = append(r.asked, q)
	if len(r.asked) == 1 {
		r.ask()
	}
}

// ask shows the first open question.
func (r *repl) ask() {
	q := r.asked[0]
	text := clean(q.Question)
	if text == "" {
		text = fmt.Sprintf("%s %s", oneLine(q.Tool), oneLine(q.Args))
	}
	if q.Reason != "" && !strings.Contains(text, oneLine(q.Reason)) {
		text += " (" + oneLine(q.Reason) + ")"
	}
	r.plain.line()
	fmt.Fprintf(r.screen, "%s\n", text)
	fmt.Fprint(r.screen, "allow? [y]es, [n]o, [a]lways, [d]eny always: ")
}

// answer takes a line as the answer to the first open question.
func (r *repl) answer(line string) {
	answers := map[string]msg.PermitAnswer{
		"y": msg.AllowOnce, "yes": msg.AllowOnce, "n": msg.DenyOnce, "no": msg.DenyOnce,
		"a": msg.AllowAlways, "always": msg.AllowAlways, "d": msg.DenyAlways, "deny": msg.DenyAlways,
	}
	a, ok := answers[strings.ToLower(strings.TrimSpace(line))]
	if !ok {
		r.ask()
		return
	}
	id := r.asked[0].ID
	r.asked = r.asked[1:]
	if err := r.c.agent.Permit(id, a); err != nil {
		r.plain.note("%v", err)
	}
	if len(r.asked) > 0 {
		r.ask()
	}
}

// settled drops a question that was answered otherwise.
func (r *repl) settled(d msg.PermissionSettled) {
	first := len(r.asked) > 0 && r.asked[0].ID == d.ID
	r.asked = slices.DeleteFunc(r.asked, func(q msg.PermissionAsked) bool { return q.ID == d.ID })
	if first && len(r.asked) > 0 {
		r.ask()
	}
}
