{{/* Folder that a driver package is in. Takes an entry of osm.driverPackages. */}}
{{- define "osm.driverFolder" -}}
{{- if hasKey . "path" -}}
{{ .path }}
{{- else if hasKey . "imageVolume" -}}
/osm-drivers/{{ .name }}{{ with .imageVolume.folder }}/{{ . }}{{ end }}
{{- else -}}
/osm-drivers/{{ .name }}
{{- end -}}
{{- end }}

{{/*
The variable that lists the driver packages, as a YAML list. The list is part of the Deployment, so that a change restarts the pods, and only users who can change the Deployment can change the list.
*/}}
{{- define "osm.driverEnvironment" -}}
{{- if .Values.osm.driverPackages }}
{{- $drivers := list -}}
{{- range .Values.osm.driverPackages -}}
{{- $entry := dict "name" .name "path" (include "osm.driverFolder" .) "integrity" .integrity -}}
{{- $own := . -}}
{{- range list "heapMb" "residentMb" }}{{- if hasKey $own . }}{{- $_ := set $entry . (get $own . | int) -}}{{- end -}}{{- end -}}
{{- with .failurePolicy }}{{- $_ := set $entry "failurePolicy" . -}}{{- end -}}
{{- $drivers = append $drivers $entry -}}
{{- end }}
- name: OSM_DRIVER_PACKAGES
  value: {{ dict "drivers" $drivers | toJson | quote }}
{{- end }}
{{- end }}

{{/* Init containers that copy driver packages to where the program reads them. */}}
{{- define "osm.driverInitContainers" -}}
{{- $containers := list -}}
{{- range .Values.osm.driverPackages }}{{- if hasKey . "initContainer" }}{{- $containers = append $containers . -}}{{- end -}}{{- end -}}
{{- if $containers }}
initContainers:
  {{- range $containers }}
  - name: driver-{{ .name }}
    image: {{ .initContainer.image | quote }}
    imagePullPolicy: {{ $.Values.osm.image.pullPolicy }}
    command:
      {{- toYaml .initContainer.command | nindent 6 }}
    {{- with .initContainer.args }}
    args:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    volumeMounts:
      - name: driver-{{ .name }}
        mountPath: /osm-drivers/{{ .name }}
    resources:
      requests:
        cpu: 10m
        memory: 32Mi
      limits:
        cpu: 500m
        memory: 256Mi
    securityContext:
      {{- include "osm.containerSecurityContext" $ | nindent 6 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Mounts of a program that loads driver packages, as a YAML list. Copies of them and sockets are in /tmp. */}}
{{- define "osm.driverMounts" -}}
{{- if .Values.osm.driverPackages }}
- name: driver-work
  mountPath: /tmp
{{- range .Values.osm.driverPackages }}
{{- if not (hasKey . "path") }}
- name: driver-{{ .name }}
  mountPath: /osm-drivers/{{ .name }}
  readOnly: true
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Volumes of its pod, as a YAML list. A package has 256 MiB at most. */}}
{{- define "osm.driverVolumes" -}}
{{- if .Values.osm.driverPackages }}
- name: driver-work
  emptyDir:
    sizeLimit: {{ mul 320 (len .Values.osm.driverPackages) }}Mi
{{- range .Values.osm.driverPackages }}
{{- if hasKey . "initContainer" }}
- name: driver-{{ .name }}
  emptyDir:
    sizeLimit: 256Mi
{{- else if hasKey . "imageVolume" }}
- name: driver-{{ .name }}
  image:
    reference: {{ .imageVolume.reference | quote }}
    pullPolicy: {{ $.Values.osm.image.pullPolicy }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
