// Answers the exchanges of the HTTP corpus, over HTTP/1.1 and HTTP/2 without TLS on one port: http-server <port>
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

type seen struct {
	Method  string      `json:"method"`
	URL     string      `json:"url"`
	Version string      `json:"version"`
	Headers [][2]string `json:"headers"`
	Host    string      `json:"authority"`
	Bytes   int64       `json:"bytes"`
	Sha256  string      `json:"sha256"`
}

var (
	text  = strings.Repeat("hello from the corpus\n", 20)
	plain = func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/plain") }
)

func echo(w http.ResponseWriter, r *http.Request) {
	hash := sha256.New()
	length, err := io.Copy(hash, r.Body)
	if err != nil {
		http.Error(w, "unreadable body", http.StatusBadRequest)
		return
	}
	own := seen{Method: r.Method, URL: r.RequestURI, Version: fmt.Sprintf("%d.%d", r.ProtoMajor, r.ProtoMinor), Host: r.Host, Bytes: length, Sha256: hex.EncodeToString(hash.Sum(nil))}
	for name, values := range r.Header {
		for _, value := range values {
			own.Headers = append(own.Headers, [2]string{name, value})
		}
	}
	for _, coding := range r.TransferEncoding {
		own.Headers = append(own.Headers, [2]string{"Transfer-Encoding", coding})
	}
	body, _ := json.Marshal(map[string]seen{"seen": own})
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}

func status(w http.ResponseWriter, r *http.Request) {
	code, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/status/"))
	plain(w)
	if code == http.StatusNotModified {
		w.Header().Set("ETag", `"corpus"`)
	}
	w.WriteHeader(code)
	if code != http.StatusNoContent && code != http.StatusNotModified {
		fmt.Fprintf(w, "status %d", code)
	}
}

func events(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for i := 0; i < 5; i++ {
		fmt.Fprintf(w, "id: %d\ndata: event %d\n\n", i, i)
		w.(http.Flusher).Flush()
		time.Sleep(20 * time.Millisecond)
	}
}

func main() {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	io.WriteString(writer, text)
	writer.Close()
	counted := make([]byte, 10_000)
	for i := range counted {
		counted[i] = byte(i % 251)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/echo/", echo)
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("/status/", status)
	mux.HandleFunc("/events", events)
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/text", http.StatusFound) })
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		plain(w)
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes())
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "bytes", time.Time{}, bytes.NewReader(counted))
	})
	mux.HandleFunc("/cookies", func(w http.ResponseWriter, r *http.Request) {
		for _, cookie := range []string{"a=1; Path=/", "b=2; HttpOnly", "c=3; Expires=Wed, 21 Oct 2065 07:28:00 GMT"} {
			w.Header().Add("Set-Cookie", cookie)
		}
		plain(w)
		io.WriteString(w, strings.Join(r.Header.Values("Cookie"), "; "))
	})
	mux.HandleFunc("/large-headers", func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < 40; i++ {
			w.Header().Set(fmt.Sprintf("X-Large-%d", i), strings.Repeat("v", 1_000))
		}
		io.WriteString(w, "large")
	})
	mux.HandleFunc("/close", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "closed")
	})
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Checksum")
		plain(w)
		io.WriteString(w, "with trailers")
		w.Header().Set("X-Checksum", "abc")
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(300 * time.Millisecond)
		io.WriteString(w, "slow")
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		w.Header().Set("Content-Length", "9")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		io.WriteString(w, "too large")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		plain(w)
		w.Header().Set("X-Mixed-Case", "Value")
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		io.WriteString(w, text)
	})
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Addr: "0.0.0.0:" + os.Args[1], Handler: mux, Protocols: &protocols}
	log.Fatal(server.ListenAndServe())
}
