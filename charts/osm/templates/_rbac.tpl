{{/* Leaving events on the own pod: the pod is read for its uid, without which `kubectl describe` does not show them. */}}
{{- define "osm.ownEventsRules" -}}
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{/* Account, roles and bindings of a program. Takes root; name; and the rules of its ClusterRole and of its Role, as YAML. */}}
{{- define "osm.programAccount" -}}
{{- $namespace := include "osm.namespace" .root -}}
{{- $clusterName := include "osm.clusterName" (dict "root" .root "name" (trimPrefix "osm-" .name)) -}}
{{- $labels := include "osm.componentLabels" (dict "root" .root "component" .name) -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- $labels | nindent 4 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $clusterName }}
  labels:
    {{- $labels | nindent 4 }}
rules:
  {{- .clusterRules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $clusterName }}
  labels:
    {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $clusterName }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ $namespace | quote }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- $labels | nindent 4 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ $namespace | quote }}
  labels:
    {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .name }}
    namespace: {{ $namespace | quote }}
{{- end }}

{{/* Names of the roles for Secrets in namespaces of the mesh, as a YAML list. */}}
{{- define "osm.secretRoleNames" -}}
{{- range $task := list "bootstrap" "owned" "egress" "certificate" }}
- {{ include "osm.clusterName" (dict "root" $ "name" (printf "%s-secrets" $task)) | quote }}
{{- end }}
{{- end }}

{{/* A ClusterRole for Secrets. Takes root; task; component, the program that holds it; and verbs. */}}
{{- define "osm.secretRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ include "osm.clusterName" (dict "root" .root "name" (printf "%s-secrets" .task)) | quote }}
  labels:
    {{- include "osm.componentLabels" (dict "root" .root "component" .component) | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [secrets]
    verbs: {{ toJson .verbs }}
{{- end }}

{{/*
A ValidatingAdmissionPolicy for what one program writes outside its own namespace, and its binding. Takes root; name; component, the program; group and
resource; operations; and validations, each with expression and message. Expressions have `variables.before` and `variables.after`: the object as it is and as
it is going to be. The one that does not exist is the other one.
*/}}
{{- define "osm.programPolicy" -}}
{{- $namespace := include "osm.namespace" .root -}}
{{- $clusterName := include "osm.clusterName" (dict "root" .root "name" .name) -}}
{{- $labels := include "osm.componentLabels" (dict "root" .root "component" .component) -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {{ $clusterName | quote }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: [{{ .group | quote }}]
        apiVersions: [v1]
        operations: {{ toJson .operations }}
        resources: [{{ .resource }}]
  matchConditions:
    - name: program
      expression: {{ printf "request.userInfo.username == \"system:serviceaccount:%s:%s\" && request.namespace != %q" $namespace .component $namespace | squote }}
  variables:
    - name: before
      expression: "oldObject == null ? object : oldObject"
    - name: after
      expression: "object == null ? oldObject : object"
  validations:
    {{- range .validations }}
    - expression: {{ .expression | squote }}
      message: {{ .message | quote }}
    {{- end }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ $clusterName | quote }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  policyName: {{ $clusterName | quote }}
  validationActions: [Deny]
{{- end }}
