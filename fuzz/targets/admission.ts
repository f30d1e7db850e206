import { exceededJsonBound } from '../../packages/program/src/admission/json-depth.js'
import { readAdmissionReview, writeAdmissionReview } from '../../packages/program/src/admission/admission-review.js'
import { resolveMeshConfig, withoutSecrets } from '../../packages/core/src/config/index.js'
import { DriverRegistry } from '../../packages/core/src/drivers/registry.js'
import { parseMeshDomains } from '../../packages/core/src/identity/index.js'
import { SnapshotBuilder } from '../../packages/core/src/snapshot/index.js'
import { ObjectDecoder, SpecRules } from '../../packages/core/src/spec/index.js'
import { consentNeeded } from '../../packages/core/src/spec/reference-grant.js'
import { ObjectReviewer } from '../../packages/controller/src/webhook/object-reviewer.js'
import { createEnvoyDriver } from '../../packages/driver-envoy/src/index.js'
import { type FuzzTarget, hasCode, invariant, isRecord, jsonOf, outcomeOf, textOf } from '../fuzz-target.js'

const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })
const environment = {}
const origin = { kind: 'api', resourceVersion: '1' } as const

function configOf(spec: object) {
  return resolveMeshConfig(
    spec,
    { osmNamespace: 'osm-system', clusterDomain: domains.clusterDomain, environment },
    { object: undefined, locate: () => undefined },
  )
}

function reviewer(): ObjectReviewer {
  const registry = new DriverRegistry()
  registry.register(createEnvoyDriver())
  const { config } = configOf({ sidecar: { sidecarClass: 'envoy' }, featureFlags: { enableEgressPolicy: true } })
  const builder = new SnapshotBuilder(['api'])
  return new ObjectReviewer({
    rules: new SpecRules({
      ...domains,
      osmNamespace: 'osm-system',
      crossNamespace: () => consentNeeded,
      gatewayNames: () => [],
    }),
    registry,
    domains,
    osmNamespace: 'osm-system',
    configName: 'osm-mesh-config',
    environment,
    validateTrafficTarget: true,
    snapshot: () => builder.snapshot,
    config: () => config,
    started: () => config,
  })
}

/** What webhooks and configuration read. */
export function admissionTargets(): readonly FuzzTarget[] {
  const objects = reviewer()
  const decoder = new ObjectDecoder()
  return [
    {
      name: 'admission-review',
      about:
        'Bodies of reviews, before anything looks at the object: depth is known before parsing, and an error repeats nothing of the body but its version.',
      form: 'json',
      words: ['AdmissionReview', 'admission.k8s.io/v1', 'CREATE', 'UPDATE', 'DELETE'],
      run: (input) => {
        const text = textOf(input)
        const deep = exceededJsonBound(text, { depth: 128, values: 100_000 }) !== undefined
        const outcome = outcomeOf(() => readAdmissionReview(input), hasCode('OSM_ADMISSION_REVIEW'))
        if (isRecord(outcome) && 'value' in outcome) {
          invariant(!deep, 'a deep body is accepted')
          const { uid } = outcome.value as { readonly uid: string }
          const answer = writeAdmissionReview(uid, {
            allowed: false,
            code: 422,
            reason: 'Invalid',
            message: text,
            warnings: [text],
          })
          const written = JSON.parse(answer) as {
            readonly response: { readonly uid: string; readonly warnings: readonly string[] }
          }
          invariant(written.response.uid === uid, 'the answer is for another request')
          invariant(
            written.response.warnings.every((warning) => warning.length <= 256 && !/\p{Cc}/u.test(warning)),
            'a warning that is not a header',
          )
        }
        return outcome
      },
    },
    {
      name: 'object-review',
      about: 'Reviews of objects by the controller: each is answered, a denial names a code and a field.',
      form: 'json',
      words: [
        'CREATE',
        'UPDATE',
        'osm-mesh-config',
        'osm-system',
        'policy.openservicemesh.io/v1alpha1',
        'Egress',
        'MeshConfig',
        'TrafficTarget',
        'HTTPRouteGroup',
      ],
      budgetMs: 250,
      run: (input) => {
        const request = outcomeOf(() => readAdmissionReview(input), hasCode('OSM_ADMISSION_REVIEW'))
        if (!isRecord(request) || !('value' in request)) return request
        const verdict = objects.review(request.value as Parameters<ObjectReviewer['review']>[0])
        for (const text of [...verdict.denials, ...verdict.warnings])
          invariant(/\[OSM_[A-Z_0-9]+\]$/.test(text), `an answer without a code: ${text}`)
        return verdict
      },
    },
    {
      name: 'mesh-config',
      about:
        'MeshConfig as it takes effect: each wrong setting gives way with a problem that names its field, and the authorization header of remote logging is not repeated.',
      form: 'json',
      words: ['envoy', 'pipy', '1h', '10.0.0.0/8', 'TLSv1_2', 'ECDSA', 'RSA', '%REQ(:PATH)%', 'json'],
      secret: 'hunter2',
      run: (input) => {
        const written = jsonOf(input)
        const { object } = decoder.decode(
          {
            apiVersion: 'config.openservicemesh.io/v1alpha2',
            kind: 'MeshConfig',
            metadata: { name: 'osm-mesh-config', namespace: 'osm-system' },
            spec: written,
          },
          { origin, defaultNamespace: 'osm-system', locate: () => origin, sourceText: () => undefined },
        )
        if (object === undefined) return undefined
        const { config, problems } = configOf(object.spec)
        for (const { message, field } of problems)
          invariant(message.length > 0 && field !== undefined, 'a problem without words and a field')
        return { config: withoutSecrets(config), problems }
      },
    },
  ]
}
