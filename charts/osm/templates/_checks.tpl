{{/*
Refuses values that this version can't obey, and values that contradict each other. What is only accepted for
compatibility is marked in values.yaml as such; no requested value is ignored without a message.
*/}}
{{- define "osm.checks" -}}
{{- include "osm.checkOrigin" . -}}
{{- include "osm.checkFormerValues" . -}}
{{- include "osm.checkAvailable" . -}}
{{- include "osm.checkMemory" . -}}
{{- include "osm.checkClasses" . -}}
{{- include "osm.checkProxyIdentity" . -}}
{{- include "osm.checkWorkloadIdentity" . -}}
{{- end }}

{{- define "osm.checkOrigin" -}}
{{- $image := .Values.osm.image -}}
{{- if has $image.registry (list "flomesh" "openservicemesh" "docker.io/flomesh" "docker.io/openservicemesh") -}}
{{- fail (printf "osm.image.registry is %q: the images there are programs of OSM or osm-edge, which this chart cannot run. Upgrade with --reset-then-reuse-values instead of --reuse-values, which keeps the old chart's defaults, or set osm.image.registry to where your images are" $image.registry) -}}
{{- end -}}
{{- end }}

{{- define "osm.checkAvailable" -}}
{{- $osm := .Values.osm -}}
{{- if and $osm.deployGrafana (not $osm.deployPrometheus) -}}
{{- fail "osm.deployGrafana is true, and osm.deployPrometheus is not: the Grafana of the chart reads the Prometheus of the chart. Set osm.deployPrometheus too, or give a Grafana of your own the dashboards by osm.dashboards.enable" -}}
{{- end -}}
{{- if $osm.grafana.enableRemoteRendering -}}
{{- fail "osm.grafana.enableRemoteRendering is true: this chart brings no renderer of images. Leave it false, and look at the dashboards in a browser" -}}
{{- end -}}
{{- include "osm.checkFluentBit" . -}}
{{- if .Values.contour.enabled -}}
{{- fail "contour.enabled is true: this chart brings no Contour. Install Contour by its own chart, and let it in by an IngressBackend" -}}
{{- end -}}
{{- if .Values.fsm.enabled -}}
{{- fail "fsm.enabled is true: this chart brings no Flomesh gateway. Install it by its own chart, and let it in by an IngressBackend" -}}
{{- end -}}
{{- if $osm.repoServer.standalone -}}
{{- fail "osm.repoServer.standalone is true: the repo of class pipy is part of osm-controller; leave it false" -}}
{{- end -}}
{{- if eq $osm.trafficInterceptionMode "ebpf" -}}
{{- fail "osm.trafficInterceptionMode is ebpf: this version redirects traffic by iptables, or not at all; use iptables or none" -}}
{{- end -}}
{{- if eq $osm.certificateProvider.kind "cert-manager" -}}
{{- include "osm.checkCertManager" . -}}
{{- end -}}
{{- if eq $osm.certificateProvider.kind "vault" -}}
{{- include "osm.checkVault" . -}}
{{- end -}}
{{- end }}

{{/* Fluent Bit without what its output needs. */}}
{{- define "osm.checkFluentBit" -}}
{{- $settings := .Values.osm.fluentBit -}}
{{- if .Values.osm.enableFluentbit -}}
{{- if eq $settings.outputPlugin "azure" -}}
{{- range $key := list "workspaceId" "primaryKey" -}}
{{- if not (get $settings $key) -}}
{{- fail (printf "osm.fluentBit.outputPlugin is azure, which needs osm.fluentBit.%s" $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $settings.enableProxySupport (not $settings.httpProxy) (not $settings.httpsProxy) -}}
{{- fail "osm.fluentBit.enableProxySupport is true, which needs osm.fluentBit.httpProxy or osm.fluentBit.httpsProxy" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Vault without what its login needs. */}}
{{- define "osm.checkVault" -}}
{{- $vault := .Values.osm.vault -}}
{{- $secret := or $vault.token (and $vault.secret.name $vault.secret.key) -}}
{{- if not $vault.host -}}
{{- fail "osm.certificateProvider.kind is vault, which needs osm.vault.host" -}}
{{- end -}}
{{- if and $vault.token $vault.secret.name -}}
{{- fail "osm.vault has token and secret.name; it needs one of them" -}}
{{- end -}}
{{- if and (has $vault.auth.kind (list "token" "appRole")) (not $secret) -}}
{{- fail (printf "osm.vault.auth.kind is %s, which needs osm.vault.secret.name and osm.vault.secret.key, or osm.vault.token" $vault.auth.kind) -}}
{{- end -}}
{{- if and (has $vault.auth.kind (list "kubernetes" "appRole")) (not $vault.auth.role) -}}
{{- fail (printf "osm.vault.auth.kind is %s, which needs osm.vault.auth.role" $vault.auth.kind) -}}
{{- end -}}
{{- if and (eq $vault.auth.kind "tokenFile") (not $vault.auth.tokenFile) -}}
{{- fail "osm.vault.auth.kind is tokenFile, which needs osm.vault.auth.tokenFile" -}}
{{- end -}}
{{- end }}

{{/* cert-manager without an issuer, or with one that it does not have. */}}
{{- define "osm.checkCertManager" -}}
{{- $issuer := .Values.osm.certmanager -}}
{{- range $key := list "issuerName" "issuerKind" "issuerGroup" -}}
{{- if not (get $issuer $key) -}}
{{- fail (printf "osm.certificateProvider.kind is cert-manager, which needs osm.certmanager.%s" $key) -}}
{{- end -}}
{{- end -}}
{{- if and (eq $issuer.issuerGroup "cert-manager.io") (not (has $issuer.issuerKind (list "Issuer" "ClusterIssuer"))) -}}
{{- fail (printf "osm.certmanager.issuerKind is %q: group cert-manager.io has Issuer and ClusterIssuer; set osm.certmanager.issuerGroup to that of another kind" $issuer.issuerKind) -}}
{{- end -}}
{{- end }}

{{- define "osm.checkClasses" -}}
{{- $osm := .Values.osm -}}
{{- include "osm.checkDriverPackages" . -}}
{{- include "osm.checkEndpointsProviders" . -}}
{{- $names := list -}}
{{- $ports := dict -}}
{{- range include "osm.drivers" . | fromYamlArray -}}
{{- if has .sidecarName $names -}}
{{- fail (printf "osm.sidecarDrivers has two entries with sidecarName %q" .sidecarName) -}}
{{- end -}}
{{- $names = append $names .sidecarName -}}
{{- $port := .proxyServerPort | default 15128 | int | toString -}}
{{- if hasKey $ports $port -}}
{{- fail (printf "osm.sidecarDrivers: %s and %s both have proxyServerPort %s; each class needs a port of its own" (get $ports $port) .sidecarName $port) -}}
{{- end -}}
{{- if has $port (list "9091" "9092" "9093" "9094" "9097") -}}
{{- fail (printf "osm.sidecarDrivers: %s has proxyServerPort %s, which the controller needs for itself (9091 health, 9092 debug, 9093 webhook, 9094 replicas, 9097 machines)" .sidecarName $port) -}}
{{- end -}}
{{- $_ := set $ports $port .sidecarName -}}
{{- end -}}
{{- include "osm.checkSidecarImages" . -}}
{{- if not (has $osm.sidecarClass $names) -}}
{{- fail (printf "osm.sidecarClass is %q, but osm.sidecarDrivers has no entry with that sidecarName; it has: %s" $osm.sidecarClass (join ", " $names)) -}}
{{- end -}}
{{- end }}

{{- define "osm.checkEndpointsProviders" -}}
{{- $names := list -}}
{{- range .Values.osm.endpointsProviders -}}
{{- if has .name $names -}}
{{- fail (printf "osm.endpointsProviders: there are two entries named %s; each entry needs a name of its own" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- $ways := list -}}
{{- $entry := . -}}
{{- range list "path" "imageVolume" -}}
{{- if hasKey $entry . }}{{- $ways = append $ways . -}}{{- end -}}
{{- end -}}
{{- if has .name (list "file" "dns") -}}
{{- if or $ways (hasKey . "integrity") -}}
{{- fail (printf "osm.endpointsProviders: %s is built in; its entry has no path, imageVolume or integrity" .name) -}}
{{- end -}}
{{- else -}}
{{- if ne (len $ways) 1 -}}
{{- fail (printf "osm.endpointsProviders: the entry %s has %s; it needs one of path and imageVolume" .name (join " and " $ways | default "none")) -}}
{{- end -}}
{{- if not (hasKey . "integrity") -}}
{{- fail (printf "osm.endpointsProviders: the entry %s has no integrity; it is printed by osm driver inspect" .name) -}}
{{- end -}}
{{- end -}}
{{- if and (hasKey . "imageVolume") (semverCompare "<1.31.0-0" $.Capabilities.KubeVersion.Version) -}}
{{- fail (printf "osm.endpointsProviders: the entry %s has imageVolume, and this cluster is %s: volumes that are images came with 1.31; use path with an image of your own" .name $.Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "osm.checkDriverPackages" -}}
{{- $known := include "osm.builtInClasses" . | fromYamlArray -}}
{{- range .Values.osm.driverPackages -}}
{{- if has .name $known -}}
{{- fail (printf "osm.driverPackages: class %s has a driver already, built in or by another entry; each entry needs a class of its own" .name) -}}
{{- end -}}
{{- $known = append $known .name -}}
{{- $ways := list -}}
{{- $entry := . -}}
{{- range list "path" "initContainer" "imageVolume" -}}
{{- if hasKey $entry . }}{{- $ways = append $ways . -}}{{- end -}}
{{- end -}}
{{- if ne (len $ways) 1 -}}
{{- fail (printf "osm.driverPackages: the entry of class %s has %s; it needs one of path, initContainer and imageVolume" .name (join " and " $ways | default "none")) -}}
{{- end -}}
{{- if and (hasKey . "imageVolume") (semverCompare "<1.31.0-0" $.Capabilities.KubeVersion.Version) -}}
{{- fail (printf "osm.driverPackages: the entry of class %s has imageVolume, and this cluster is %s: volumes that are images came with 1.31; use initContainer, or path with images of your own" .name $.Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/*
Entries of osm.sidecarDrivers, as a YAML list. Class pipy may be chosen by its name alone, because it has an entry by default in osm-edge. The image
is one of 1.5: the scripts that its sidecars run do not load in 0.90, which osm-edge had.
*/}}
{{- define "osm.drivers" -}}
{{- $drivers := .Values.osm.sidecarDrivers -}}
{{- $names := list -}}
{{- range $drivers }}{{- $names = append $names .sidecarName -}}{{- end -}}
{{- if and (eq .Values.osm.sidecarClass "pipy") (not (has "pipy" $names)) -}}
{{- $drivers = append $drivers (dict "sidecarName" "pipy" "sidecarImage" "flomesh/pipy:1.5.18" "proxyServerPort" 6060) -}}
{{- end -}}
{{ $drivers | toYaml }}
{{- end }}

{{/*
Sidecar classes whose drivers are in the programs, as a YAML list. osm-preinstall refuses to install or upgrade a mesh with another class, before
anything is changed; rendering does not, so that values can be inspected.
*/}}
{{- define "osm.builtInClasses" -}}
- envoy
- pipy
{{- end }}

{{/* Sidecar classes that have a driver, built in or in a package, as a YAML list. */}}
{{- define "osm.servedClasses" -}}
{{- $names := include "osm.builtInClasses" . | fromYamlArray -}}
{{- range .Values.osm.driverPackages }}{{- $names = append $names .name -}}{{- end -}}
{{ $names | toYaml }}
{{- end }}

{{/* Keys made by kubelets, where a cluster or a class cannot have them. */}}
{{- define "osm.checkProxyIdentity" -}}
{{- $osm := .Values.osm -}}
{{- if eq $osm.proxyIdentity "podCertificate" -}}
{{- $version := .Capabilities.KubeVersion.Version -}}
{{- if not (semverCompare ">=1.34.0-0" $version) -}}
{{- fail (printf "osm.proxyIdentity is podCertificate, which needs Kubernetes 1.34 or newer with PodCertificateRequests; this is %s. Use secret" $version) -}}
{{- end -}}
{{- if eq $osm.sidecarClass "pipy" -}}
{{- fail "osm.proxyIdentity is podCertificate, and sidecars of class pipy (osm.sidecarClass) cannot renew the certificate that they start with. Use secret, or class envoy" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Certificates of SPIRE, where no one or the class by default cannot have them. */}}
{{- define "osm.checkWorkloadIdentity" -}}
{{- $osm := .Values.osm -}}
{{- if eq $osm.workloadIdentity "spire" -}}
{{- if not $osm.spire.enable -}}
{{- fail "osm.workloadIdentity is spire, which needs osm.spire.enable. Set it to true, or osm.workloadIdentity to mesh" -}}
{{- end -}}
{{- if eq $osm.sidecarClass "pipy" -}}
{{- fail "osm.workloadIdentity is spire, and sidecars of class pipy (osm.sidecarClass) cannot take certificates from SPIRE. Use mesh, or class envoy" -}}
{{- end -}}
{{- end -}}
{{- end }}
