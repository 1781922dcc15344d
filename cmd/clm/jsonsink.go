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
	var data any = e.Data
	if m, ok := e.Data.(msg.MessageAdded); ok { // in the form of a session's lines
		line, err := llm.EncodeMessage(m.Message)
		if err != nil {
			return err
		}
		data = map[string]json.RawMessage{"message": line}
	}
	return s.write(jsonLine{Type: e.Data.EventName(), Seq: e.Seq, Agent: e.Agent, Turn: e.Turn, Time: e.Time, Data: data})
}

func (s jsonSink) outcome(o outcome) error {
	return s.write(jsonLine{Type: "outcome", Time: time.Now(), Data: o})
}

func (s jsonSink) write(l jsonLine) error {
	l.V = eventsVersion
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = s.w.Write(append(b, '\n'))
	return err
}
