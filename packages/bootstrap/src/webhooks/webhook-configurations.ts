import { apiVersionOf, type KubernetesManifest, type ResourceType, resourceTypes } from '@osm-ts/kubernetes'

import { fingerprint } from '../reconcile/kept-object.js'
import { type MeshIdentity, meshLabels, RECONCILE_LABEL } from '../mesh-identity.js'

/** What decides how the API server calls the webhooks. */
export interface WebhookSettings {
  readonly mesh: MeshIdentity
  /** Name of the MutatingWebhookConfiguration. */
  readonly mutatingName: string
  /** Name of the ValidatingWebhookConfiguration. */
  readonly validatingName: string
  readonly timeoutSeconds: number
  /** What happens to a request while the webhook does not answer. */
  readonly failurePolicy: 'Fail' | 'Ignore'
  readonly validateTrafficTarget: boolean
}

/** Fingerprint of the configuration that was written last, without its trust. */
export const CONFIGURATION_ANNOTATION = 'openservicemesh.io/configuration'

/** When the first root of the caBundle was taken up: those after it fall away a while later, over restarts as well. */
export const TRUSTED_SINCE_ANNOTATION = 'openservicemesh.io/trusted-since'

/** Roots that the certificate of a webhook may come from. */
export interface WebhookTrust {
  /** PEM. */
  readonly pem: string
  /** When the first of them was taken up, in milliseconds since 1970. */
  readonly since: number
}

/** Namespaces that no webhook of ours is ever asked about: the cluster has to work while the mesh does not. */
const CLUSTER_NAMESPACES = ['kube-system', 'kube-public', 'kube-node-lease']
/** The API server gives every namespace this label with the namespace's name, and lets no one change it. */
const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name'

/** The two kinds of configuration. */
export type WebhookKind = 'mutating' | 'validating'

/** How the API server serves a kind of configuration. */
export function webhookType(kind: WebhookKind): ResourceType {
  return kind === 'mutating' ? resourceTypes.MutatingWebhookConfiguration : resourceTypes.ValidatingWebhookConfiguration
}

/** Name of a configuration. */
export function webhookConfigurationName(kind: WebhookKind, settings: WebhookSettings): string {
  return kind === 'mutating' ? settings.mutatingName : settings.validatingName
}

/** A webhook of a configuration. Every field is written out, so that what is stored equals what was sent. */
export interface Webhook {
  readonly name: string
  readonly clientConfig: { readonly caBundle?: string; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

/** A configuration as it is to be. */
export function webhookConfiguration(
  kind: WebhookKind,
  settings: WebhookSettings,
  trust: WebhookTrust,
  reconcile: boolean,
): KubernetesManifest & { readonly webhooks: readonly Webhook[] } {
  const type = webhookType(kind)
  const webhooks =
    kind === 'mutating'
      ? [mutatingWebhook(settings)]
      : [validatingWebhook(settings), clusterWebhook(settings), configWebhook(settings)]
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: {
      name: webhookConfigurationName(kind, settings),
      labels: {
        ...meshLabels(settings.mesh, kind === 'mutating' ? 'osm-injector' : 'osm-controller'),
        ...(reconcile && { [RECONCILE_LABEL]: 'true' }),
      },
      annotations: { [CONFIGURATION_ANNOTATION]: fingerprint(webhooks), ...trustAnnotations(trust) },
    },
    webhooks: webhooks.map((webhook) => withCaBundle(webhook, trust.pem)),
  }
}

/** What is remembered of the trust beside the caBundle. */
export function trustAnnotations({ since }: WebhookTrust): Readonly<Record<string, string>> {
  return { [TRUSTED_SINCE_ANNOTATION]: new Date(since).toISOString() }
}

/** A webhook that trusts these roots, PEM. */
export function withCaBundle(webhook: Webhook, caBundle: string): Webhook {
  const encoded = Buffer.from(caBundle).toString('base64')
  return { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle: encoded } }
}

function mutatingWebhook(settings: WebhookSettings): Webhook {
  return {
    name: 'osm-inject.k8s.io',
    clientConfig: service(settings, 'osm-injector', 9090, '/mutate-pod-creation'),
    rules: [rule(['CREATE'], '', ['v1'], ['pods'], 'Namespaced')],
    // A Secret is made for the pod, unless it is a dry run.
    sideEffects: 'NoneOnDryRun',
    // Containers that another webhook adds later have probes to be rewritten as well.
    reinvocationPolicy: 'IfNeeded',
    ...common(settings),
  }
}

function validatingWebhook(settings: WebhookSettings): Webhook {
  const operations = ['CREATE', 'UPDATE']
  const policies = [
    'ingressbackends',
    'egresses',
    'egressgateways',
    'referencegrants',
    'upstreamtrafficsettings',
    'retries',
    'accesscontrols',
    'accesscerts',
  ]
  return {
    name: 'osm-validator.k8s.io',
    clientConfig: service(settings, 'osm-validator', 9093, '/validate'),
    rules: [
      rule(operations, 'policy.openservicemesh.io', ['v1alpha1'], policies, 'Namespaced'),
      rule(operations, 'plugin.flomesh.io', ['v1alpha1'], ['pluginchains', 'pluginconfigs'], 'Namespaced'),
      rule(operations, 'specs.smi-spec.io', ['v1alpha4'], ['httproutegroups'], 'Namespaced'),
      rule(operations, 'split.smi-spec.io', ['v1alpha2', 'v1alpha4'], ['trafficsplits'], 'Namespaced'),
      ...(settings.validateTrafficTarget
        ? [rule(operations, 'access.smi-spec.io', ['v1alpha3'], ['traffictargets'], 'Namespaced')]
        : []),
    ],
    sideEffects: 'None',
    ...common(settings),
  }
}

/** Longest that the API server waits for a review that may be left out. */
const ADVICE_SECONDS = 5

/**
 * Has Plugins reviewed, which are outside of namespaces: no selector keeps those of other meshes away. They are shared by all meshes, and so one that is
 * down must not hold them up.
 */
function clusterWebhook(settings: WebhookSettings): Webhook {
  return {
    ...validatingWebhook(settings),
    name: 'osm-cluster-validator.k8s.io',
    rules: [rule(['CREATE', 'UPDATE'], 'plugin.flomesh.io', ['v1alpha1'], ['plugins'], 'Cluster')],
    failurePolicy: 'Ignore',
    timeoutSeconds: Math.min(settings.timeoutSeconds, ADVICE_SECONDS),
  }
}

/**
 * Has settings of the mesh itself reviewed, which are in the one namespace that all else leaves alone. Without the
 * controller they are written unseen: they may be what keeps it from starting. What osm-bootstrap adds is not held up by
 * what a user has written.
 */
function configWebhook(settings: WebhookSettings): Webhook {
  const { osmNamespace } = settings.mesh
  return {
    ...validatingWebhook(settings),
    name: 'osm-mesh-config.k8s.io',
    rules: [
      rule(
        ['CREATE', 'UPDATE'],
        'config.openservicemesh.io',
        ['v1alpha1', 'v1alpha2'],
        ['meshconfigs', 'meshrootcertificates'],
        'Namespaced',
      ),
    ],
    failurePolicy: 'Ignore',
    timeoutSeconds: Math.min(settings.timeoutSeconds, ADVICE_SECONDS),
    namespaceSelector: { matchLabels: { [NAMESPACE_NAME_LABEL]: osmNamespace } },
    matchConditions: [
      {
        name: 'not-by-osm-bootstrap',
        expression: `request.userInfo.username != 'system:serviceaccount:${osmNamespace}:osm-bootstrap'`,
      },
    ],
  }
}

function common({ mesh, timeoutSeconds, failurePolicy }: WebhookSettings): Readonly<Record<string, unknown>> {
  const spared = [...new Set([...CLUSTER_NAMESPACES, mesh.osmNamespace])].sort()
  return {
    admissionReviewVersions: ['v1'],
    failurePolicy,
    matchPolicy: 'Exact',
    timeoutSeconds,
    namespaceSelector: {
      matchLabels: { 'openservicemesh.io/monitored-by': mesh.meshName },
      matchExpressions: [
        { key: 'openservicemesh.io/ignore', operator: 'DoesNotExist' },
        { key: 'control-plane', operator: 'DoesNotExist' },
        { key: NAMESPACE_NAME_LABEL, operator: 'NotIn', values: spared },
      ],
    },
    objectSelector: {},
    // Says it once more without labels. Objects outside of namespaces have no namespace in their request at all.
    matchConditions: [
      {
        name: 'not-in-namespaces-of-the-cluster',
        expression: `!has(request.namespace) || !(request.namespace in [${spared.map((name) => `'${name}'`).join(', ')}])`,
      },
    ],
  }
}

function service({ mesh }: WebhookSettings, name: string, port: number, path: string): Webhook['clientConfig'] {
  return { service: { namespace: mesh.osmNamespace, name, path, port } }
}

function rule(
  operations: readonly string[],
  group: string,
  versions: readonly string[],
  resources: readonly string[],
  scope: 'Namespaced' | 'Cluster',
): unknown {
  return { operations, apiGroups: [group], apiVersions: versions, resources, scope }
}
