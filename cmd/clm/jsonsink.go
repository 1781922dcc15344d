package main

import (
	_ "embed"
	"encoding/json"
	"io"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

// eventsVersion is the "v" of each line of --json. It grows when a line's
// meaning changes; new types and members do not change it.
const eventsVersion = 1

//go:embed schema/events.json
var eventSchema string

// jsonSink writes each event as one line of JSON with one write.
type jsonSink struct{ w io.Writer }

// jsonLine is the form of every line.
type jsonLine struct {
	V     int       `json:"v"`
	Type  string    `json:"type"`
	Seq   uint64    `json:"seq,omitempty"`
	Agent string    `json:"agent,omitempty"`
	Turn  uint64    `json:"turn,omitempty"`
	Time  time.Time `json:"time"`
	Data  any       `json:"data"`
}

func (s jsonSink) event(e actors.Event) error {
	l, err := lineOf(e)
	if err != nil {
		return err
	}
	return s.write(l)
}

// lineOf gives an event its form; messages have that of a session's lines.
func lineOf(e actors.Event) (jsonLine, error) {
	l := jsonLine{V: eventsVersion, Type: e.Data.EventName(), Seq: e.Seq, Agent: e.Agent, Turn: e.Turn, Time: e.Time, Data: e.Data}
	switch d := e.Data.(type) {
	case msg.MessageAdded:
		line, err := llm.EncodeMessage(d.Message)
		if err != nil {
			return l, err
		}
		l.Data = map[string]json.RawMessage{"message": line}
	case msg.SubAgentEvent:
		inner, err := lineOf(d.Event)
		if err != nil {
			return l, err
		}
		l.Data = map[string]any{"call_id": d.CallID, "event": inner}
	}
	return l, nil
}

func (s jsonSink) outcome(o outcome) error {
	return s.write(jsonLine{V: eventsVersion, Type: "outcome", Time: time.Now(), Data: o})
}

func (s jsonSink) write(l jsonLine) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = s.w.Write(append(b, '\n'))
	return err
}
