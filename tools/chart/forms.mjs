/** @typedef {Readonly<Record<string, unknown>>} JsonSchema */

const text = { type: 'string' }
const quantity = {
  type: ['string', 'number'],
  pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$',
}
const quantities = { type: 'object', additionalProperties: quantity }
const port = { type: 'integer', minimum: 1, maximum: 65535 }
const label = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?'
const subdomain = `${label}(\\.${label})*`
const sidecarLogLevels = ['trace', 'debug', 'info', 'warning', 'warn', 'error', 'critical', 'off']

const stage = {
  type: 'object',
  required: ['plugin', 'priority'],
  additionalProperties: false,
  properties: { plugin: { ...text, minLength: 1 }, priority: { type: 'number' }, disable: { type: 'boolean' } },
}
const chain = { type: 'array', items: stage }

/**
 * Schemas of values that a default alone does not tell.
 * @type {Readonly<Record<string, JsonSchema>>}
 */
export const forms = {
  free: { type: 'object' },
  // Helm hands the other values of a subchart to no one when there is no subchart.
  subchart: { additionalProperties: true },
  objects: { type: 'array', items: { type: 'object' } },
  labels: { type: 'object', additionalProperties: text },
  resources: {
    type: 'object',
    additionalProperties: false,
    properties: { limits: quantities, requests: quantities },
  },
  port,
  ports: { type: 'array', items: port },
  cidrs: {
    type: 'array',
    // Whether the numbers make sense is said by the programs, which name the address.
    items: { ...text, pattern: '^[0-9A-Fa-f.:]+/[0-9]{1,3}$' },
  },
  fraction: { type: ['string', 'number'], pattern: '^(0(\\.[0-9]+)?|1(\\.0+)?)$', minimum: 0, maximum: 1 },
  duration: { ...text, pattern: '^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$' },
  digest: { ...text, pattern: '^(sha256:[0-9a-f]{64})?$' },
  dnsLabel: { ...text, pattern: `^${label}$` },
  dnsLabelOrEmpty: { ...text, pattern: `^(${label})?$` },
  dnsSubdomain: { ...text, pattern: `^${subdomain}$`, maxLength: 253 },
  dnsSubdomainOrEmpty: { ...text, pattern: `^(${subdomain})?$`, maxLength: 253 },
  dnsDomain: { ...text, pattern: `^${subdomain}$`, maxLength: 253 },
  // It is a label value, and a part of the names of cluster-wide objects.
  meshName: { ...text, pattern: `^${label}$` },
  sidecarLogLevel: { ...text, enum: sidecarLogLevels },
  sidecarLogLevelOrEmpty: { ...text, enum: ['', ...sidecarLogLevels] },
  sidecarDrivers: {
    type: 'array',
    minItems: 1,
    items: {
      type: 'object',
      required: ['sidecarName'],
      additionalProperties: false,
      properties: {
        sidecarName: { ...text, pattern: `^${label}$` },
        sidecarImage: text,
        sidecarWindowsImage: text,
        initContainerImage: text,
        proxyServerPort: port,
        sidecarDisabledMTLS: { type: 'boolean' },
        config: { type: 'object' },
      },
    },
  },
  driverPackages: {
    type: 'array',
    items: {
      type: 'object',
      required: ['name', 'integrity'],
      additionalProperties: false,
      properties: {
        name: { ...text, pattern: `^${label}$` },
        integrity: { ...text, pattern: '^sha512-[A-Za-z0-9+/]{86}==$' },
        path: { ...text, pattern: '^/' },
        initContainer: {
          type: 'object',
          required: ['image', 'command'],
          additionalProperties: false,
          properties: {
            image: { ...text, minLength: 1 },
            command: { type: 'array', minItems: 1, items: text },
            args: { type: 'array', items: text },
          },
        },
        imageVolume: {
          type: 'object',
          required: ['reference'],
          additionalProperties: false,
          properties: { reference: { ...text, minLength: 1 }, folder: { ...text, pattern: '^[^/.][^.]*$' } },
        },
        heapMb: { type: 'integer', minimum: 16, maximum: 65536 },
        residentMb: { type: 'integer', minimum: 16, maximum: 65536 },
        failurePolicy: { enum: ['Fail', 'Ignore'] },
      },
    },
  },
  endpointsProviders: {
    type: 'array',
    maxItems: 32,
    items: {
      type: 'object',
      required: ['name'],
      additionalProperties: false,
      properties: {
        name: { ...text, pattern: `^${label}$` },
        integrity: { ...text, pattern: '^sha512-[A-Za-z0-9+/]{86}==$' },
        path: { ...text, pattern: '^/' },
        imageVolume: {
          type: 'object',
          required: ['reference'],
          additionalProperties: false,
          properties: { reference: { ...text, minLength: 1 }, folder: { ...text, pattern: '^[^/.][^.]*$' } },
        },
        settings: { type: 'object' },
        variables: { type: 'array', items: { ...text, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' } },
        secretName: { ...text, minLength: 1, maxLength: 253 },
        heapMb: { type: 'integer', minimum: 16, maximum: 65536 },
        residentMb: { type: 'integer', minimum: 16, maximum: 65536 },
        customResources: { type: 'boolean' },
        kinds: {
          type: 'array',
          maxItems: 8,
          items: {
            type: 'object',
            required: ['group', 'plural'],
            additionalProperties: false,
            properties: {
              group: { ...text, pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)+$' },
              plural: { ...text, pattern: '^[a-z][a-z0-9]{0,62}$' },
            },
          },
        },
      },
    },
  },
  pluginChains: {
    type: 'object',
    additionalProperties: false,
    properties: { 'inbound-tcp': chain, 'inbound-http': chain, 'outbound-tcp': chain, 'outbound-http': chain },
  },
}
