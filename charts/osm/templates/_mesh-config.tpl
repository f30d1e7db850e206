{{/* The spec of the MeshConfig that bootstrap creates, as JSON. */}}
{{- define "osm.presetMeshConfig" -}}
{{- $osm := .Values.osm -}}
{{- $canUseOwnKeys := and (eq $osm.certificateProvider.kind "tresor") (has $osm.sidecarClass (list "envoy" "pipy")) -}}
{{- dict
  "sidecar" (include "osm.presetSidecar" . | fromYaml)
  "repoServer" (dict "ipaddr" $osm.repoServer.ipaddr "codebase" $osm.repoServer.codebase)
  "traffic" (include "osm.presetTraffic" . | fromYaml)
  "observability" (include "osm.presetObservability" . | fromYaml)
  "certificate" (dict
    "serviceCertValidityDuration" $osm.certificateProvider.serviceCertValidityDuration
    "certKeyBitSize" (int $osm.certificateProvider.certKeyBitSize)
    "keyAlgorithm" $osm.certificateProvider.keyAlgorithm
    "serviceCertificates" ($osm.certificateProvider.serviceCertificates | default (ternary "perProxy" "shared" $canUseOwnKeys)))
  "featureFlags" (include "osm.presetFeatureFlags" . | fromYaml)
  "pluginChains" $osm.pluginChains
  | toPrettyJson }}
{{- end }}

{{/*
Images of the default class are not in it: they come to the programs by their environment, so that an upgrade of the chart
brings a new sidecar, unless the MeshConfig says otherwise.
*/}}
{{- define "osm.presetSidecar" -}}
{{- $osm := .Values.osm -}}
{{- $drivers := list -}}
{{- range include "osm.drivers" . | fromYamlArray -}}
{{- $driver := omit . "sidecarImage" "sidecarWindowsImage" "initContainerImage" -}}
{{- $_ := set $driver "proxyServerPort" (.proxyServerPort | default 15128 | int) -}}
{{- with .initContainerImage }}{{- $_ := set $driver "initContainerImage" . -}}{{- end -}}
{{- if ne .sidecarName $osm.sidecarClass -}}
{{- with .sidecarImage }}{{- $_ := set $driver "sidecarImage" . -}}{{- end -}}
{{- with .sidecarWindowsImage }}{{- $_ := set $driver "sidecarWindowsImage" . -}}{{- end -}}
{{- end -}}
{{- $drivers = append $drivers $driver -}}
{{- end -}}
{{- $dns := dict "enable" $osm.localDNSProxy.enable -}}
{{- with $osm.localDNSProxy.primaryUpstreamDNSServerIPAddr }}{{- $_ := set $dns "primaryUpstreamDNSServerIPAddr" . -}}{{- end -}}
{{- with $osm.localDNSProxy.secondaryUpstreamDNSServerIPAddr }}{{- $_ := set $dns "secondaryUpstreamDNSServerIPAddr" . -}}{{- end -}}
{{- $timeout := dict -}}
{{- with int $osm.sidecarTimeout }}{{- $_ := set $timeout "sidecarTimeout" . -}}{{- end -}}
{{- dict
  "enablePrivilegedInitContainer" $osm.enablePrivilegedInitContainer
  "logLevel" ($osm.envoyLogLevel | default $osm.sidecarLogLevel)
  "maxDataPlaneConnections" (int $osm.maxDataPlaneConnections)
  "sidecarClass" $osm.sidecarClass
  "sidecarDrivers" $drivers
  "configResyncInterval" $osm.configResyncInterval
  "localProxyMode" $osm.localProxyMode
  "localDNSProxy" $dns
  "resources" (include "osm.quantities" $osm.sidecarResources | fromYaml)
  | merge $timeout | toYaml }}
{{- end }}

{{/* Resources with every amount as text, as MeshConfig wants it. */}}
{{- define "osm.quantities" -}}
{{- $resources := dict -}}
{{- range $bound, $amounts := . -}}
{{- $texts := dict -}}
{{- range $name, $amount := $amounts }}{{- $_ := set $texts $name (toString $amount) -}}{{- end -}}
{{- $_ := set $resources $bound $texts -}}
{{- end -}}
{{ $resources | toYaml }}
{{- end }}

{{- define "osm.presetTraffic" -}}
{{- $osm := .Values.osm -}}
{{- dict
  "interceptionMode" $osm.trafficInterceptionMode
  "enableEgress" $osm.enableEgress
  "enablePermissiveTrafficPolicyMode" $osm.enablePermissiveTrafficPolicy
  "http1PerRequestLoadBalancing" $osm.http1PerRequestLoadBalancing
  "http2PerRequestLoadBalancing" $osm.http2PerRequestLoadBalancing
  "crossNamespace" $osm.crossNamespace
  "outboundIPRangeExclusionList" $osm.outboundIPRangeExclusionList
  "outboundIPRangeInclusionList" $osm.outboundIPRangeInclusionList
  "outboundPortExclusionList" $osm.outboundPortExclusionList
  "inboundPortExclusionList" $osm.inboundPortExclusionList
  "networkInterfaceExclusionList" $osm.networkInterfaceExclusionList
  | toYaml }}
{{- end }}

{{/* Host of an address, which may have a port, as in values of OSM. */}}
{{- define "osm.hostOf" -}}
{{- $plain := regexReplaceAll `^([^:\[\]]+):[0-9]+$` . "${1}" -}}
{{- regexReplaceAll `^\[(.*)\](:[0-9]+)?$` $plain "${1}" -}}
{{- end }}

{{/* Port of an address, or the one that is written apart. */}}
{{- define "osm.portOf" -}}
{{- if regexMatch `^([^:\[\]]+|\[.*\]):[0-9]+$` .address -}}
{{- regexFind `[0-9]+$` .address -}}
{{- else -}}
{{- .port -}}
{{- end -}}
{{- end }}

{{/* Provider, port and path of the collector of spans. The defaults of the chart are those of Zipkin, which no collector of OTLP has. */}}
{{- define "osm.tracingCollector" -}}
{{- $tracing := .Values.osm.tracing -}}
{{- $provider := $tracing.provider | default "zipkin" -}}
{{- $port := int $tracing.port -}}
{{- $endpoint := $tracing.endpoint -}}
{{- if eq $provider "opentelemetry" -}}
{{- $port = ternary 4318 $port (eq $port 9411) -}}
{{- $endpoint = ternary "/v1/traces" $endpoint (eq $endpoint "/api/v2/spans") -}}
{{- end -}}
{{- dict "provider" $provider "port" $port "endpoint" $endpoint | toYaml -}}
{{- end }}

{{- define "osm.presetObservability" -}}
{{- $osm := .Values.osm -}}
{{- $collector := include "osm.tracingCollector" . | fromYaml -}}
{{- $address := printf "jaeger.%s.svc.%s" (include "osm.namespace" .) $osm.clusterDomain -}}
{{- dict
  "osmLogLevel" $osm.controllerLogLevel
  "enableDebugServer" $osm.enableDebugServer
  "tracing" (dict
    "enable" $osm.tracing.enable
    "provider" $collector.provider
    "address" (include "osm.hostOf" ($osm.tracing.address | default $address))
    "port" (include "osm.portOf" (dict "address" $osm.tracing.address "port" (int $collector.port)) | int)
    "endpoint" $collector.endpoint
    "sampledFraction" (toString $osm.tracing.sampledFraction))
  "remoteLogging" (dict
    "enable" $osm.remoteLogging.enable
    "level" (int $osm.remoteLogging.level)
    "address" (include "osm.hostOf" $osm.remoteLogging.address)
    "port" (include "osm.portOf" (dict "address" $osm.remoteLogging.address "port" $osm.remoteLogging.port) | int)
    "endpoint" $osm.remoteLogging.endpoint
    "authorization" $osm.remoteLogging.authorization
    "sampledFraction" (toString $osm.remoteLogging.sampledFraction))
  | toYaml }}
{{- end }}

{{- define "osm.presetFeatureFlags" -}}
{{- $flags := omit .Values.osm.featureFlags "enableMeshRootCertificate" "enableEnvoyActiveHealthChecks" -}}
{{- $healthChecks := or .Values.osm.featureFlags.enableSidecarActiveHealthChecks .Values.osm.featureFlags.enableEnvoyActiveHealthChecks -}}
{{ set $flags "enableSidecarActiveHealthChecks" $healthChecks | toYaml }}
{{- end }}
