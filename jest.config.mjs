import { availableParallelism } from 'node:os'

const besideCode = [
  'packages/*/src',
  'tools',
  'examples',
  'fuzz',
  'e2e/bench',
  'e2e/cluster/app',
  'e2e/cluster/local',
  'e2e/cluster/support',
  'e2e/traffic/support',
]

// One config for every tier; OSM_TEST_TIER picks the files, so that a suite can never be in two tiers or in none.
/** @type {Map<string, import('jest').Config>} */
const tiers = new Map([
  [
    'unit',
    {
      testMatch: besideCode.map((folder) => `<rootDir>/${folder}/**/!(*.integration).test.ts`),
      // ES modules of a test file are not given back to the heap when it ends: a process that has run many is replaced by a fresh one.
      maxWorkers: Math.max(2, availableParallelism()),
      workerIdleMemoryLimit: '1GB',
    },
  ],
  // Start programs, servers, or whole components with what they talk to.
  // They wait for each other half of the time, so that a worker for each core is not one too many.
  [
    'integration',
    {
      testMatch: besideCode.map((folder) => `<rootDir>/${folder}/**/!(*.attack).integration.test.ts`),
      maxWorkers: Math.max(2, availableParallelism()),
    },
  ],
  // Measure servers while they are attacked, which wants the machine for itself.
  [
    'attacks',
    { testMatch: besideCode.map((folder) => `<rootDir>/${folder}/**/*.attack.integration.test.ts`), maxWorkers: 1 },
  ],
  // Unit tests again, many to a file: see tools/lib/unit-groups.mjs.
  [
    'unit-groups',
    {
      testMatch: ['<rootDir>/.cache/unit-groups/*.test.ts'],
      maxWorkers: Math.max(2, availableParallelism()),
      workerIdleMemoryLimit: '1GB',
    },
  ],
  // Two workers leave a third of two cores idle: most files wait for proxies to connect and for timeouts of theirs.
  ['dataplane', { testMatch: ['<rootDir>/e2e/dataplane/**/*.test.ts'], maxWorkers: 3 }],
  // Real clients and servers of other projects, through a mesh and beside it.
  ['traffic', { testMatch: ['<rootDir>/e2e/traffic/*.test.ts'], maxWorkers: 2 }],
  // The page of osm dashboard in a real browser.
  ['ui', { testMatch: ['<rootDir>/e2e/ui/*.test.ts'], maxWorkers: 1 }],
  // With a real Pipy, which no registry has: PIPY_BIN names one.
  ['pipy', { testMatch: ['<rootDir>/e2e/pipy/**/*.test.ts'], maxWorkers: 2 }],
  [
    'api',
    {
      testMatch: ['<rootDir>/e2e/api/**/*.test.ts'],
      // Each with an API server of its own: 8 minutes on two cores, where one worker takes 13.
      maxWorkers: 2,
      globalSetup: '<rootDir>/e2e/api/harness/global-setup.mjs',
      globalTeardown: '<rootDir>/e2e/api/harness/global-teardown.mjs',
    },
  ],
  [
    'cluster',
    {
      testMatch: ['<rootDir>/e2e/cluster/tests/**/*.test.ts'],
      // With three of them two cores are never idle: a seventh less time, and probes of pods that fail.
      maxWorkers: 2,
      globalSetup: '<rootDir>/e2e/cluster/harness/global-setup.mjs',
      globalTeardown: '<rootDir>/e2e/cluster/harness/global-teardown.mjs',
    },
  ],
])
const tier = process.env.OSM_TEST_TIER ?? 'unit'
// Set-up says which modes this machine can run. Transparent mode needs root and network namespaces; its scenarios carry it in their file names.
const modes = (process.env.OSM_TEST_MODES ?? 'explicit,transparent').split(',')
const outsideMode = modes.includes('transparent') ? [] : ['\\.transparent\\.test\\.ts$']
// The same of HAProxy: empty where there is none, and then set-up has said so.
const withoutHaproxy =
  process.env.HAPROXY_BIN === ''
    ? [
        '/examples/driver-haproxy/.*\\.integration\\.test\\.ts$',
        '/e2e/dataplane/(haproxy-[^/]*|interop)\\.test\\.ts$',
        '/e2e/api/class-haproxy\\.test\\.ts$',
        '/e2e/pipy/interop-matrix\\.test\\.ts$',
      ]
    : []
// And of the driver in Python.
const withoutPython = process.env.OSM_PYTHON_DRIVER === '' ? ['python-driver\\.integration\\.test\\.ts$'] : []
// And of the stand-ins of clouds.
const withoutAzure =
  process.env.OSM_AZURE_STAND_IN === ''
    ? [
        '/endpoints-azure/.*\\.integration\\.test\\.ts$',
        '/dataplane/clouds\\.test\\.ts$',
        '/e2e/cluster/tests/machines\\.test\\.ts$',
      ]
    : []
const withoutMoto =
  process.env.OSM_MOTO_PYTHON === ''
    ? ['/endpoints-aws/.*\\.integration\\.test\\.ts$', '/dataplane/clouds\\.test\\.ts$']
    : []
// And of an OpenTelemetry Collector.
const withoutCollector = process.env.OSM_OTEL_COLLECTOR === '' ? ['/e2e/(dataplane|pipy)/traces\\.test\\.ts$'] : []
// And of a Jaeger.
const withoutJaeger = process.env.OSM_JAEGER ? [] : ['/e2e/dataplane/jaeger\\.test\\.ts$']
// And of an API server.
const withoutKubernetes = process.env.OSM_API_TIER_OBSTACLE ? ['/e2e/pipy/kubernetes/'] : []
// And of a cert-manager.
const withoutCertManager = process.env.OSM_CERT_MANAGER ? [] : ['/e2e/api/cert-manager\\.test\\.ts$']
// And of a SPIRE.
const withoutSpire = process.env.SPIRE_SERVER_BIN ? [] : ['/e2e/dataplane/spire\\.test\\.ts$']
// And of the conformance suite of the Gateway API, which comes with the definitions.
const withoutGatewayApi = process.env.OSM_GATEWAY_API
  ? []
  : ['/e2e/cluster/tests/gateway-api\\.test\\.ts$', '/e2e/api/gateway-routes\\.test\\.ts$']
const files = tiers.get(tier)
if (files === undefined) throw new Error(`OSM_TEST_TIER=${tier}: expected one of ${[...tiers.keys()].join(', ')}`)

/** @type {import('jest').Config} */
export default {
  ...files,
  testEnvironment: 'node',
  reporters: ['default', '<rootDir>/tools/testing/end-reporter.mjs'],
  // A bound against hanging, not a measure of speed: machines are shared and slow at times.
  testTimeout: 300_000,
  extensionsToTreatAsEsm: ['.ts'],
  testPathIgnorePatterns: [
    '/node_modules/',
    '/dist/',
    ...outsideMode,
    ...withoutHaproxy,
    ...withoutCertManager,
    ...withoutPython,
    ...withoutAzure,
    ...withoutMoto,
    ...withoutCollector,
    ...withoutJaeger,
    ...withoutSpire,
    ...withoutKubernetes,
    ...withoutGatewayApi,
  ],
  moduleNameMapper: {
    '^fast-check$': '<rootDir>/tools/testing/seeded-fast-check.mjs',
    '^@osm-ts/envoy-api/(.*)$': '<rootDir>/packages/envoy-api/gen/$1',
    '^@osm-ts/program/build-version$': '<rootDir>/packages/program/src/build-version.ts',
    '^@osm-ts/driver-api/(host|policy|toolkit)$': '<rootDir>/packages/driver-api/src/$1/index.ts',
    '^@osm-ts/([^/]+)/testing$': '<rootDir>/packages/$1/test/index.ts',
    '^@osm-ts/([^/]+)$': '<rootDir>/packages/$1/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
    ],
  },
}
