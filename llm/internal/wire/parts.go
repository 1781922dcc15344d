package wire

import "clm/llm"

// Parts are a request's messages as encode puts each on the wire. from is the
// origin of their reasoning, on which encode depends. The parts are shared: they
// must not be changed.
func (c *Client) Parts(req *llm.Request, from string, encode func(m *llm.Message, from string) []byte) [][]byte {
	parts := make([][]byte, len(req.Messages))
	for i := range req.Messages {
		m := c.Shown(req.Model, &req.Messages[i])
		parts[i] = m.Wire(from, func() []byte { return encode(m, from) })
	}
	return parts
}

// Separated is b with a comma behind what it holds, if anything.
func Separated(b []byte) []byte {
	if len(b) > 0 {
		b = append(b, ',')
	}
	return b
}
