package main

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"

	"osm-ts.dev/tools/traffic/exchanges"
)

type object = map[string]any

func digest(content []byte) object {
	sum := sha256.Sum256(content)
	return object{"bytes": len(content), "sha256": hex.EncodeToString(sum[:])}
}

// Trusts the certificate of the corpus.
func tlsConfig(host string) (*tls.Config, error) {
	certificate, err := os.ReadFile(filepath.Join(os.Args[2], "tls.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return &tls.Config{RootCAs: roots, ServerName: host}, nil
}

func withTLS(target exchanges.Target) (map[string]exchanges.Exchange, error) {
	config, err := tlsConfig(target.Host)
	if err != nil {
		return nil, err
	}
	own := func(change func(*tls.Config)) *tls.Config {
		copied := config.Clone()
		change(copied)
		return copied
	}
	handshake := func(config *tls.Config) (any, error) {
		connection, err := tls.Dial("tcp", target.Address(), config)
		if err != nil {
			return nil, err
		}
		defer connection.Close()
		state := connection.ConnectionState()
		return object{"version": tls.VersionName(state.Version), "alpn": state.NegotiatedProtocol}, nil
	}
	get := func(path string, config *tls.Config) ([]byte, error) {
		connection, err := tls.Dial("tcp", target.Address(), config)
		if err != nil {
			return nil, err
		}
		defer connection.Close()
		if _, err := io.WriteString(connection, "GET "+path+" HTTP/1.0\r\n\r\n"); err != nil {
			return nil, err
		}
		// Half of a TLS connection may end before the other.
		if err := connection.CloseWrite(); err != nil {
			return nil, err
		}
		answer, err := io.ReadAll(connection)
		_, body, _ := strings.Cut(string(answer), "\r\n\r\n")
		return []byte(body), err
	}
	return map[string]exchanges.Exchange{
		"handshake": func() (any, error) {
			return handshake(own(func(it *tls.Config) { it.NextProtos = []string{"h2", "http/1.1"} }))
		},
		"old-version": func() (any, error) {
			return handshake(own(func(it *tls.Config) { it.MaxVersion = tls.VersionTLS12 }))
		},
		"request": func() (any, error) {
			body, err := get("/seen", config)
			return string(body), err
		},
		"client-certificate": func() (any, error) {
			pair, err := tls.LoadX509KeyPair(filepath.Join(os.Args[2], "tls.crt"), filepath.Join(os.Args[2], "tls.key"))
			if err != nil {
				return nil, err
			}
			body, err := get("/seen", own(func(it *tls.Config) { it.Certificates = []tls.Certificate{pair} }))
			return string(body), err
		},
		"large": func() (any, error) {
			body, err := get("/large", config)
			return digest(body), err
		},
	}, nil
}

func withSMTP(target exchanges.Target) (map[string]exchanges.Exchange, error) {
	config, err := tlsConfig(target.Host)
	if err != nil {
		return nil, err
	}
	send := func(to, body string, isSecret bool) (any, error) {
		connection, err := net.Dial("tcp", target.Address())
		if err != nil {
			return nil, err
		}
		client, err := smtp.NewClient(connection, target.Host)
		if err != nil {
			return nil, err
		}
		defer client.Close()
		if isSecret {
			if err := client.StartTLS(config); err != nil {
				return nil, err
			}
		}
		if err := client.Mail("me@corpus.test"); err != nil {
			return nil, err
		}
		var refusal *textproto.Error
		if err := client.Rcpt(to); errors.As(err, &refusal) {
			return object{"code": refusal.Code, "message": refusal.Msg}, nil
		} else if err != nil {
			return nil, err
		}
		writer, err := client.Data()
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(writer, "Subject: corpus\r\n\r\n"+body); err != nil {
			return nil, err
		}
		return "taken", errors.Join(writer.Close(), client.Quit())
	}
	return map[string]exchanges.Exchange{
		"mail": func() (any, error) { return send("you@corpus.test", "hello", false) },
		"large": func() (any, error) {
			return send("you@corpus.test", strings.Repeat(strings.Repeat("x", 70)+"\r\n", 15_000), false)
		},
		"starttls": func() (any, error) { return send("you@corpus.test", "hello", true) },
		"refused":  func() (any, error) { return send("nobody@corpus.test", "hello", false) },
	}, nil
}
