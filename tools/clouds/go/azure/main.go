// Serves Azure Resource Manager and the token endpoint of Microsoft Entra ID to tests. Routes, models and pages of
// virtual machines, scale sets and network interfaces are those of the fakes of Microsoft's SDK; what they serve is
// the state that a test has put.
package main

import (
	"crypto/tls"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

// State is the document that tests put to /control/state. Resources have the JSON form of the REST API.
type State struct {
	// By subscription.
	Subscriptions map[string]Fleet `json:"subscriptions"`
	Faults        Faults           `json:"faults"`
}

// Faults make the server fail as the real one does.
type Faults struct {
	// Seconds of Retry-After; above zero every call is refused with 429.
	ThrottleSeconds int `json:"throttleSeconds"`
	// Every call is refused with 403, as for an identity without a role.
	Forbidden bool `json:"forbidden"`
	// Tokens are refused with the error of a secret that was revoked or has expired.
	Revoked bool `json:"revoked"`
	// Lists have a page after each page.
	EndlessPages bool `json:"endlessPages"`
	// Calls whose path contains one of these are answered with 500.
	FailingPaths []string `json:"failingPaths"`
}

type server struct {
	mutex  sync.Mutex
	state  State
	fleets map[string]*fleetServer
	// Paths of calls to Resource Manager since the state was put.
	calls []string
}

func main() {
	pair, certificate, err := newCertificate()
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	// The test reads this line.
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{
		"url": "https://" + listener.Addr().String(), "certificate": certificate,
	}); err != nil {
		log.Fatal(err)
	}
	// A test that is killed closes the pipe; the server ends with it.
	go func() {
		buffer := make([]byte, 1)
		_, _ = os.Stdin.Read(buffer)
		os.Exit(0)
	}()
	handler := &server{}
	configuration := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	log.Fatal(http.Serve(tls.NewListener(listener, configuration), handler))
}

func (s *server) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case request.URL.Path == "/control/state":
		s.put(writer, request)
	case request.URL.Path == "/control/calls":
		writeJSON(writer, http.StatusOK, s.calls)
	case strings.HasSuffix(request.URL.Path, "/oauth2/v2.0/token"):
		s.token(writer, request)
	case strings.HasSuffix(request.URL.Path, "/.well-known/openid-configuration"):
		s.discovery(writer, request)
	default:
		s.resourceManager(writer, request)
	}
}

func (s *server) put(writer http.ResponseWriter, request *http.Request) {
	var state State
	if err := json.NewDecoder(request.Body).Decode(&state); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	s.state, s.calls, s.fleets = state, []string{}, map[string]*fleetServer{}
	for subscription, fleet := range state.Subscriptions {
		s.fleets[subscription] = newFleetServer(fleet, state.Faults.EndlessPages)
	}
	writer.WriteHeader(http.StatusNoContent)
}

func (s *server) token(writer http.ResponseWriter, request *http.Request) {
	if err := request.ParseForm(); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	if s.state.Faults.Revoked || (request.PostForm.Get("client_secret") != "right-secret" && request.PostForm.Get("client_assertion") == "") {
		writeJSON(writer, http.StatusUnauthorized, map[string]any{
			"error":             "invalid_client",
			"error_description": "AADSTS7000215: Invalid client secret provided.",
			"error_codes":       []int{7000215},
		})
		return
	}
	writeJSON(writer, http.StatusOK, map[string]any{
		"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599, "access_token": "token-of-the-stand-in",
	})
}

func (s *server) discovery(writer http.ResponseWriter, request *http.Request) {
	tenant := strings.Split(request.URL.Path, "/")[1]
	base := "https://" + request.Host + "/" + tenant
	writeJSON(writer, http.StatusOK, map[string]any{
		"token_endpoint":         base + "/oauth2/v2.0/token",
		"authorization_endpoint": base + "/oauth2/v2.0/authorize",
		"issuer":                 base + "/v2.0",
		"jwks_uri":               base + "/discovery/v2.0/keys",
	})
}

func (s *server) resourceManager(writer http.ResponseWriter, request *http.Request) {
	s.calls = append(s.calls, request.URL.Path)
	parts := strings.Split(request.URL.Path, "/")
	faults := s.state.Faults
	switch {
	case request.Header.Get("Authorization") != "Bearer token-of-the-stand-in":
		writeError(writer, http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid.")
		return
	case faults.ThrottleSeconds > 0:
		writer.Header().Set("Retry-After", strconv.Itoa(faults.ThrottleSeconds))
		writeError(writer, http.StatusTooManyRequests, "TooManyRequests", "The request is being throttled.")
		return
	case faults.Forbidden:
		writeError(writer, http.StatusForbidden, "AuthorizationFailed", "The client does not have authorization to perform action.")
		return
	}
	for _, fragment := range faults.FailingPaths {
		if strings.Contains(request.URL.Path, fragment) {
			writeError(writer, http.StatusInternalServerError, "InternalServerError", "Encountered internal server error.")
			return
		}
	}
	if len(parts) < 3 || parts[1] != "subscriptions" || s.fleets[parts[2]] == nil {
		writeError(writer, http.StatusNotFound, "SubscriptionNotFound", "The subscription could not be found.")
		return
	}
	s.fleets[parts[2]].serve(writer, request)
}

func writeError(writer http.ResponseWriter, status int, code string, message string) {
	writer.Header().Set("x-ms-error-code", code)
	writeJSON(writer, status, map[string]any{"error": map[string]any{"code": code, "message": message}})
}

func writeJSON(writer http.ResponseWriter, status int, body any) {
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	if err := json.NewEncoder(writer).Encode(body); err != nil {
		log.Print(err)
	}
}
