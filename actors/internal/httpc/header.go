package httpc

import (
	"fmt"
	"net/http"
	"strings"
)

// setHeaders checks a plugin's headers and sets them over the default ones.
func setHeaders(req *http.Request, headers []Header) error {
	if len(headers) > maxHeaders {
		return fmt.Errorf("more than %d headers", maxHeaders)
	}
	size := 0
	for _, h := range headers {
		if size += len(h.Name) + len(h.Value); size > maxHeaderLen {
			return fmt.Errorf("the headers are longer than %d bytes", maxHeaderLen)
		}
		if why := badHeader(h); why != "" {
			return fmt.Errorf("the header %s %s", visible(h.Name), why)
		}
		if strings.EqualFold(h.Name, "Host") {
			req.Host = h.Value
			continue
		}
		req.Header.Set(h.Name, h.Value)
	}
	return nil
}

// badHeader says what is wrong with a header.
func badHeader(h Header) string {
	if h.Name == "" || strings.ContainsFunc(h.Name, notToken) {
		return "has a name that is no token"
	}
	for i := range len(h.Value) {
		if c := h.Value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return "has a control character in its value"
		}
	}
	switch strings.ToLower(h.Name) {
	case "connection", "content-length", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade":
		return "cannot be set: it belongs to the connection"
	}
	return ""
}

// notToken tells the characters that RFC 9110 does not allow in a name.
func notToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
}
