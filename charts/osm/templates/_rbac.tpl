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
