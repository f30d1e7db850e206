{{/* Names of the CRDs that bootstrap applies, as a YAML list; a test compares them with packages/bootstrap/crds. */}}
{{- define "osm.customResourceDefinitions" -}}
- accesscerts.policy.openservicemesh.io
- accesscontrols.policy.openservicemesh.io
- egresses.policy.openservicemesh.io
- egressgateways.policy.openservicemesh.io
- extensionservices.config.openservicemesh.io
- externalworkloads.policy.openservicemesh.io
- globaltrafficpolicies.flomesh.io
- httproutegroups.specs.smi-spec.io
- ingressbackends.policy.openservicemesh.io
- meshconfigs.config.openservicemesh.io
- meshrootcertificates.config.openservicemesh.io
- pluginchains.plugin.flomesh.io
- pluginconfigs.plugin.flomesh.io
- plugins.plugin.flomesh.io
- referencegrants.policy.openservicemesh.io
- retries.policy.openservicemesh.io
- serviceexports.flomesh.io
- serviceimports.flomesh.io
- tcproutes.specs.smi-spec.io
- telemetries.policy.openservicemesh.io
- trafficsplits.split.smi-spec.io
- traffictargets.access.smi-spec.io
- upstreamtrafficsettings.policy.openservicemesh.io
{{- end }}
