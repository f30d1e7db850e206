{{/* Where the Fluent Bit beside the controller finds the logs of its pod. */}}
{{- define "osm.fluentBitLogs" -}}
/var/log/osm
{{- end }}

{{/*
What the Fluent Bit beside the controller does: it reads the log of osm-controller, parses its JSON, adds the name of the pod, and passes
each record on. Values have no line breaks, which values.schema.json sees to, so that no value adds a section.
*/}}
{{- define "osm.fluentBitConfig" -}}
{{- $settings := .Values.osm.fluentBit -}}
[SERVICE]
    Flush        1
    Log_Level    warn
    Parsers_File parsers.conf

[INPUT]
    Name             tail
    Tag              osm.controller
    Path             {{ include "osm.fluentBitLogs" . }}/osm-controller/*.log
    Parser           cri
    Read_from_Head   On
    Refresh_Interval 5
    Mem_Buf_Limit    5MB
    Skip_Long_Lines  On

[FILTER]
    Name         parser
    Match        osm.controller
    Key_Name     log
    Parser       json
    Reserve_Data On

[FILTER]
    Name   record_modifier
    Match  osm.controller
    Record controller_pod_name ${CONTROLLER_POD_NAME}

[OUTPUT]
    Name  {{ $settings.outputPlugin }}
    Match *
{{- if eq $settings.outputPlugin "azure" }}
    Customer_ID ${AZURE_WORKSPACE_ID}
    Shared_Key  ${AZURE_PRIMARY_KEY}
{{- end }}
{{- range $key, $value := $settings.outputSettings }}
    {{ $key }} {{ $value }}
{{- end }}
{{- end }}

{{/* Parsers of that configuration. Lines of the kubelet have a time, a stream, a flag and the line of the program. */}}
{{- define "osm.fluentBitParsers" -}}
[PARSER]
    Name        cri
    Format      regex
    Regex       ^(?<time>[^ ]+) (?<stream>stdout|stderr) (?<logtag>[^ ]*) (?<log>.*)$
    Time_Key    time
    Time_Format %Y-%m-%dT%H:%M:%S.%L%z

[PARSER]
    Name      json
    Format    json
    Time_Keep On
{{- end }}

{{/* Keys of the Secret of Fluent Bit, as YAML: its configuration, which may hold the credentials of an output, and variables. */}}
{{- define "osm.fluentBitSecret" -}}
{{- $settings := .Values.osm.fluentBit -}}
fluent-bit.conf: {{ include "osm.fluentBitConfig" . | b64enc }}
parsers.conf: {{ include "osm.fluentBitParsers" . | b64enc }}
{{- if eq $settings.outputPlugin "azure" }}
AZURE_WORKSPACE_ID: {{ $settings.workspaceId | b64enc }}
AZURE_PRIMARY_KEY: {{ $settings.primaryKey | b64enc }}
{{- end }}
{{- if $settings.enableProxySupport }}
{{- with $settings.httpProxy }}
HTTP_PROXY: {{ . | b64enc }}
{{- end }}
{{- with $settings.httpsProxy }}
HTTPS_PROXY: {{ . | b64enc }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The container beside osm-controller, as a YAML list; empty without it. Log files of a node belong to root, and other users cannot read them:
hence the user. It has no capabilities and no token, and sees the logs of this one pod. It has no probe: logs that do not get through must not
make the controller unready.
*/}}
{{- define "osm.fluentBitContainer" -}}
{{- if .Values.osm.enableFluentbit }}
{{- $settings := .Values.osm.fluentBit }}
- name: {{ $settings.name }}
  image: {{ printf "%s/fluent-bit:%s" $settings.registry $settings.tag | quote }}
  imagePullPolicy: {{ $settings.pullPolicy }}
  args: [--config=/etc/osm/fluent-bit/fluent-bit.conf]
  env:
    {{- include "osm.podNameVariable" "CONTROLLER_POD_NAME" | nindent 4 }}
    - name: CONTROLLER_POD_NAMESPACE
      valueFrom:
        fieldRef:
          fieldPath: metadata.namespace
    - name: CONTROLLER_POD_UID
      valueFrom:
        fieldRef:
          fieldPath: metadata.uid
    {{- range $key := keys (include "osm.fluentBitSecret" . | fromYaml) | sortAlpha }}
    {{- if not (hasSuffix ".conf" $key) }}
    - name: {{ $key }}
      valueFrom:
        secretKeyRef:
          name: osm-fluent-bit
          key: {{ $key }}
    {{- end }}
    {{- end }}
  resources:
    limits:
      cpu: 200m
      memory: 64M
    requests:
      cpu: 10m
      memory: 32M
  securityContext:
    {{- include "osm.containerSecurityContext" . | nindent 4 }}
    runAsNonRoot: false
    runAsUser: 0
  volumeMounts:
    - name: fluent-bit
      mountPath: /etc/osm/fluent-bit
      readOnly: true
    - name: pod-logs
      mountPath: {{ include "osm.fluentBitLogs" . }}
      # The kubelet's folder of this pod.
      subPathExpr: $(CONTROLLER_POD_NAMESPACE)_$(CONTROLLER_POD_NAME)_$(CONTROLLER_POD_UID)
      readOnly: true
    # In place of the controller's token.
    - name: no-token
      mountPath: /var/run/secrets/kubernetes.io/serviceaccount
      readOnly: true
{{- end }}
{{- end }}

{{/* Volumes of that container, as a YAML list; empty without it. */}}
{{- define "osm.fluentBitVolumes" -}}
{{- if .Values.osm.enableFluentbit }}
- name: fluent-bit
  secret:
    secretName: osm-fluent-bit
    items:
      - key: fluent-bit.conf
        path: fluent-bit.conf
      - key: parsers.conf
        path: parsers.conf
- name: pod-logs
  hostPath:
    path: /var/log/pods
    type: Directory
- name: no-token
  emptyDir: {}
{{- end }}
{{- end }}
