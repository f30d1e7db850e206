// suite runs the conformance tests of the Gateway API against the cluster that KUBECONFIG names. It takes the flags of those tests.
//
// The tests are made for "go test"; as a program they are built once for a machine, like every other tool.
package main

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

func main() {
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "Conformance", F: conformance.RunConformance}}, nil, nil)
}
