{{/*
Refuses what a complete values.yaml of OSM or osm-edge says and this version can't run with: helm would report a release that is deployed, and programs
would be killed or sidecars refuse everything.
*/}}

{{/* Memory limits below what a program needs at its start, as measured: docs/guides/install.md#memory has the figures. */}}
{{- define "osm.checkMemory" -}}
{{- $osm := .Values.osm -}}
{{- $needed := dict "osmController" "192M" "injector" "160M" "osmBootstrap" "128M" "dashboard" "192M" -}}
{{- range $name := keys $needed | sortAlpha -}}
{{- $limit := dig $name "resource" "limits" "memory" "" $osm | toString -}}
{{- $least := get $needed $name -}}
{{- if and $limit (lt (include "osm.bytesOf" $limit | float64) (include "osm.bytesOf" $least | float64)) -}}
{{- fail (printf "osm.%s.resource.limits.memory is %s: the program is a Node.js program and needs %s at the least; leave the limit out of your values, or raise it" $name $limit $least) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Bytes of a quantity of Kubernetes, as a decimal number. */}}
{{- define "osm.bytesOf" -}}
{{- $number := regexFind "^[0-9.]+(e[0-9]+)?" . | float64 -}}
{{- $unit := regexFind "[A-Za-z]+$" (regexReplaceAll "e[0-9]+$" . "") -}}
{{- $factors := dict "m" 0.001 "k" 1000 "K" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000 "P" 1000000000000000 "E" 1000000000000000000 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- mulf $number (get $factors $unit | default 1) -}}
{{- end }}

{{/* Oldest version of the proxy that the driver of each class declares. A test compares the two. */}}
{{- define "osm.oldestSidecars" -}}
envoy: '1.37'
pipy: '1.5'
{{- end }}

{{/* Images of sidecars that are too old, by the version in their tag, for every class that pods may choose. */}}
{{- define "osm.checkSidecarImages" -}}
{{- $osm := .Values.osm -}}
{{- $oldest := include "osm.oldestSidecars" . | fromYaml -}}
{{- range $index, $entry := include "osm.drivers" . | fromYamlArray -}}
{{- $least := get $oldest $entry.sidecarName -}}
{{- $isDefault := eq $entry.sidecarName $osm.sidecarClass -}}
{{- $image := $entry.sidecarImage | default "" -}}
{{- $value := printf "osm.sidecarDrivers[%d].sidecarImage" $index -}}
{{- if and $isDefault $osm.sidecarImage -}}
{{- $image = $osm.sidecarImage -}}
{{- $value = "osm.sidecarImage" -}}
{{- end -}}
{{- $version := regexFind "[0-9]+[.][0-9]+([.][0-9]+)?" (regexFind ":[^/:@]+(@|$)" $image) -}}
{{- if and $least $version -}}
{{- if semverCompare (printf "<%s" $least) $version -}}
{{- fail (printf "%s is %q: class %s needs version %s or newer of its proxy; leave the image out of your values, or name a newer one" $value $image $entry.sidecarName $least) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Values of OSM and osm-edge under names that this chart has no value for. The schema takes them so that this can say what to do. */}}
{{- define "osm.checkFormerValues" -}}
{{- if hasKey .Values "OpenServiceMesh" -}}
{{- fail "OpenServiceMesh: this key held the values of OSM before 0.11; write them under osm, as in osm.meshName" -}}
{{- end -}}
{{- if .Values.osm.sidecarDisabledMTLS -}}
{{- fail "osm.sidecarDisabledMTLS is true: traffic between sidecars is always mutual TLS here; leave it out" -}}
{{- end -}}
{{- if dig "enableSPIFFE" false .Values.osm.featureFlags -}}
{{- fail "osm.featureFlags.enableSPIFFE is true: certificates hold a SPIFFE ID in any case, and there is no switch; leave it out" -}}
{{- end -}}
{{- if .Values.osm.enableSPIFFE -}}
{{- fail "osm.enableSPIFFE is true: certificates hold a SPIFFE ID in any case, and there is no switch; leave it out" -}}
{{- end -}}
{{- range $name, $collector := dict "tracing" .Values.osm.tracing "remoteLogging" .Values.osm.remoteLogging -}}
{{- if contains "/" $collector.address -}}
{{- fail (printf "osm.%s.address is %q: it is a host name or an IP address, with a port or without, such as jaeger.tracing:9411; the path goes to osm.%s.endpoint" $name $collector.address $name) -}}
{{- end -}}
{{- end -}}
{{- end }}
