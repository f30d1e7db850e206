// Does the exchanges of the HTTP corpus with the client of Go's standard library: http-client 1|2
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"time"
)

type exchange struct {
	Name    string      `json:"name"`
	Method  string      `json:"method"`
	Path    string      `json:"path"`
	Headers [][2]string `json:"headers"`
	Body    *struct {
		Bytes   int64  `json:"bytes"`
		Framing string `json:"framing"`
	} `json:"body"`
	Host            string `json:"host"`
	ByAddress       bool   `json:"byAddress"`
	ExpectsContinue bool   `json:"expectsContinue"`
	Times           int    `json:"times"`
}

type target struct {
	Server    string     `json:"server"`
	Host      string     `json:"host"`
	Address   string     `json:"address"`
	Port      int        `json:"port"`
	Exchanges []exchange `json:"exchanges"`
}

func ask(client *http.Client, to target, each exchange) map[string]any {
	dialled := to.Host
	if each.ByAddress {
		dialled = to.Address
	}
	reused, continued := false, false
	trace := &httptrace.ClientTrace{
		GotConn:        func(info httptrace.GotConnInfo) { reused = info.Reused },
		Got100Continue: func() { continued = true },
	}
	var body io.Reader
	if each.Body != nil {
		body = strings.NewReader(strings.Repeat("b", int(each.Body.Bytes)))
		if each.Body.Framing == "chunked" {
			body = struct{ io.Reader }{body}
		}
	}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(context.Background(), trace), each.Method, fmt.Sprintf("http://%s:%d%s", dialled, to.Port, each.Path), body)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	for _, header := range each.Headers {
		request.Header.Add(header[0], header[1])
	}
	if each.Host != "" {
		request.Host = each.Host
	}
	if each.ExpectsContinue {
		request.Header.Set("Expect", "100-continue")
	}
	response, err := client.Do(request)
	if err != nil {
		return map[string]any{"error": kindOf(err)}
	}
	defer response.Body.Close()
	hash := sha256.New()
	content, err := io.ReadAll(io.TeeReader(response.Body, hash))
	if err != nil {
		return map[string]any{"error": kindOf(err), "status": response.StatusCode}
	}
	headers := list(response.Header)
	for _, coding := range response.TransferEncoding {
		headers = append(headers, [2]string{"Transfer-Encoding", coding})
	}
	seen := map[string]any{
		"status":   response.StatusCode,
		"version":  response.Proto,
		"headers":  headers,
		"trailers": list(response.Trailer),
		"bytes":    len(content),
		"sha256":   hex.EncodeToString(hash.Sum(nil)),
		"reused":   reused,
	}
	if strings.HasPrefix(string(content), `{"seen":`) {
		seen["text"] = string(content)
	}
	if each.ExpectsContinue {
		seen["continued"] = continued
	}
	return seen
}

func list(header http.Header) [][2]string {
	all := [][2]string{}
	for name, values := range header {
		for _, value := range values {
			all = append(all, [2]string{name, value})
		}
	}
	return all
}

// Addresses and ports in messages of errors are a run's own.
func kindOf(err error) string {
	var dial *net.OpError
	if errors.As(err, &dial) {
		return dial.Err.Error()
	}
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err.Error()
}

func main() {
	var protocols http.Protocols
	protocols.SetHTTP1(os.Args[1] == "1")
	protocols.SetUnencryptedHTTP2(os.Args[1] == "2")
	client := &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{Protocols: &protocols, ExpectContinueTimeout: 30 * time.Second, MaxResponseHeaderBytes: 1 << 20},
	}
	var input struct {
		Targets []target `json:"targets"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		log.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, to := range input.Targets {
		own := map[string]any{}
		for _, each := range to.Exchanges {
			if each.Times < 2 {
				own[each.Name] = ask(client, to, each)
				continue
			}
			answers := []any{}
			for range each.Times {
				answers = append(answers, ask(client, to, each))
			}
			own[each.Name] = answers
		}
		all[to.Server] = own
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		log.Fatal(err)
	}
}
