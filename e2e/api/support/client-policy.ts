/** SMI as YAML that lets the account `client` of a namespace get `/books…` of its account `server`, and no one anything else. */
export function clientMayReadBooks(namespace: string): string {
  return `apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: { name: books, namespace: ${namespace} }
spec: { matches: [{ name: all, pathRegex: "/books.*", methods: [GET] }] }
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: client-to-server, namespace: ${namespace} }
spec:
  destination: { kind: ServiceAccount, name: server, namespace: ${namespace} }
  rules: [{ kind: HTTPRouteGroup, name: books }]
  sources: [{ kind: ServiceAccount, name: client, namespace: ${namespace} }]
`
}
