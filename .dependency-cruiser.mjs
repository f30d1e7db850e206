import { join } from 'node:path'

/** core re-exports the contract, so anyone who may import core may name the contract's own package too. */
const core = ['core', 'driver-api']

/** What each program is made of: the mesh, Kubernetes, and what programs share. */
const program = [...core, 'kubernetes', 'program']

/** Which workspace package may import which; see docs/design for the reasons. What is not listed is forbidden. */
const mayImport = {
  'driver-api': [],
  'endpoints-api': [],
  'endpoints-polling': ['endpoints-api'],
  'endpoints-azure': ['endpoints-api', 'endpoints-polling'],
  'endpoints-aws': ['endpoints-api', 'endpoints-polling'],
  'endpoints-local': ['endpoints-api'],
  'endpoints-testkit': ['endpoints-api'],
  core: ['driver-api', 'endpoints-api'],
  kubernetes: core,
  program: [...core, 'kubernetes'],
  vault: core,
  'envoy-api': [],
  'driver-envoy': ['driver-api', 'envoy-api'],
  'driver-pipy': ['driver-api'],
  'driver-process': ['driver-api', 'endpoints-api', 'endpoints-local'],
  'driver-testkit': ['driver-api', 'driver-process'],
  interception: [],
  // Independent on purpose: what it shared with the mesh it could not find fault with.
  // Tests alone use it: what ships must not be compared with itself.
  oracle: [],
  injector: [...program, 'driver-process', 'interception'],
  controller: [...program, 'driver-process', 'vault'],
  bootstrap: program,
  standalone: [...core, 'program', 'controller', 'driver-process', 'interception'],
  // A page of browsers: of core it knows types alone.
  dashboard: core,
  // What osm-preinstall finds in the way of a mesh, osm install finds as well.
  cli: [...program, 'bootstrap', 'dashboard', 'driver-process', 'injector', 'standalone'],
  'create-driver': [],
}

/** Programs name their built-in drivers in one file, src/builtins.ts. */
const programs = ['controller', 'injector', 'standalone']

/** Tests that use the fixtures of core. */
const fixtureUsers = '^packages/(controller|kubernetes|program|standalone|vault)/(test/|.*\\.test\\.ts$)'

/** Packages published to driver authors stay small: the few packages from outside that each may use. */
const outsidePackages = {
  'driver-api': ['@sinclair/typebox'],
  'endpoints-api': [],
  'endpoints-polling': [],
  'endpoints-local': ['yaml'],
  'endpoints-testkit': ['ajv'],
  'driver-process': ['@bufbuild/protobuf', '@grpc/grpc-js'],
  interception: [],
  oracle: ['re2js'],
}

/** @typedef {import('dependency-cruiser').IRegularForbiddenRuleType} Rule */

/** @type {Rule[]} */
const layers = Object.entries(mayImport).map(([name, allowed]) => ({
  name: `layer-${name}`,
  comment: `${name} may import ${allowed.length > 0 ? allowed.join(', ') : 'no other workspace package'}`,
  severity: 'error',
  from: {
    path: `^packages/${name}/`,
    // The exceptions have rules of their own below.
    pathNot: [
      ...(programs.includes(name)
        ? [`^packages/${name}/src/builtins\\.ts$`, `^packages/${name}/(test/|.*\\.test\\.ts$)`]
        : []),
      '^packages/(driver|endpoints)-[^/]+/(test/|.*\\.test\\.ts$)',
    ],
  },
  to: { path: '^packages/([^/]+)/', pathNot: [name, ...allowed].map((other) => `^packages/${other}/`) },
}))

/** @type {Rule[]} */
const outside = Object.entries(outsidePackages).map(([name, allowed]) => ({
  name: `outside-${name}`,
  comment: `${name} may use ${allowed.length > 0 ? allowed.join(', ') : 'nothing'} from outside`,
  severity: 'error',
  from: { path: `^packages/${name}/src/`, pathNot: '\\.test\\.ts$' },
  to: { path: 'node_modules', pathNot: allowed.map((other) => `node_modules/${other}/`) },
}))

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...layers,
    ...outside,
    {
      name: 'unlisted-package',
      comment: 'a new package needs a line in the table of .dependency-cruiser.mjs and in the design',
      severity: 'error',
      from: { path: '^packages/', pathNot: Object.keys(mayImport).map((name) => `^packages/${name}/`) },
      to: {},
    },
    {
      name: 'builtins-drivers',
      comment: 'builtins.ts adds drivers to what its program may import, and nothing else',
      severity: 'error',
      from: { path: '^packages/([^/]+)/src/builtins\\.ts$' },
      to: {
        path: '^packages/',
        pathNot: ['^packages/$1/', '^packages/(core|kubernetes|program)/', '^packages/driver-'],
      },
    },
    {
      name: 'program-tests',
      comment: 'tests of a program may use its drivers beside what the program may import',
      severity: 'error',
      from: { path: `^packages/(${programs.join('|')})/(test/|.*\\.test\\.ts$)` },
      to: {
        path: '^packages/',
        pathNot: ['^packages/$1/', '^packages/(core|kubernetes|program|controller|interception)/', '^packages/driver-'],
      },
    },
    {
      name: 'driver-tests',
      comment:
        'tests of a driver may use the conformance suite and the way out of the process beside what the driver may import',
      severity: 'error',
      from: { path: '^packages/(driver-[^/]+)/(test/|.*\\.test\\.ts$)' },
      to: {
        path: '^packages/',
        pathNot: ['^packages/$1/', '^packages/driver-(api|process|testkit)/', '^packages/envoy-api/'],
      },
    },
    {
      name: 'endpoints-tests',
      comment: 'tests of an endpoints provider may use the conformance suite beside what the provider may import',
      severity: 'error',
      from: { path: '^packages/(endpoints-[^/]+)/(test/|.*\\.test\\.ts$)' },
      to: {
        path: '^packages/',
        pathNot: ['^packages/$1/', '^packages/endpoints-(api|polling|local|testkit)/'],
      },
    },
    {
      name: 'deep-import',
      comment: 'packages meet at their index.ts',
      severity: 'error',
      from: { path: '^(packages/[^/]+|examples/[^/]+)/', pathNot: fixtureUsers },
      to: {
        path: '^packages/[^/]+/',
        pathNot: [
          '^$1/',
          '^packages/[^/]+/src/index\\.ts$',
          '^packages/driver-api/src/(host|policy|toolkit)/index\\.ts$',
          // An export of its own, so that the command line starts without the rest of core.
          '^packages/program/src/build-version\\.ts$',
          '^packages/envoy-api/gen/',
        ],
      },
    },
    {
      name: 'e2e-entry-points',
      comment: 'tests of whole programs use the index.ts of packages, and test/index.ts for what only tests use',
      severity: 'error',
      from: { path: '^e2e/' },
      to: {
        path: '^packages/[^/]+/',
        pathNot: [
          '^packages/[^/]+/(src|test)/index\\.ts$',
          '^packages/driver-api/src/(host|policy|toolkit)/index\\.ts$',
          '^packages/envoy-api/gen/',
        ],
      },
    },
    {
      name: 'test-entry-points',
      comment: 'test/index.ts of a package is for e2e; what ships uses src/index.ts',
      severity: 'error',
      from: { pathNot: '^e2e/' },
      to: { path: '^packages/[^/]+/test/index\\.ts$' },
    },
    {
      name: 'core-fixtures',
      comment:
        'tests of what is built on core may use the fixtures in packages/core/test; else packages meet at index.ts',
      severity: 'error',
      from: { path: fixtureUsers },
      to: {
        path: '^packages/[^/]+/',
        pathNot: [
          '^packages/$1/',
          '^packages/[^/]+/src/index\\.ts$',
          '^packages/driver-api/src/(host|policy|toolkit)/index\\.ts$',
          '^packages/core/test/',
        ],
      },
    },
    {
      name: 'oracle-in-tests',
      comment: 'nothing that ships uses the oracle: tests compare it with what ships',
      severity: 'error',
      from: { path: '^(packages|examples|tools)/', pathNot: ['^packages/oracle/', '\\.test\\.ts$'] },
      to: { path: '^packages/oracle/' },
    },
    {
      name: 'fuzz-is-last',
      comment: 'fuzz targets reach into every package for its parsers; nothing is made of them',
      severity: 'error',
      from: { pathNot: '^fuzz/' },
      to: { path: '^fuzz/' },
    },
    {
      name: 'fuzz-from-outside',
      comment: 'a fuzz target reads packages, and what makes its inputs',
      severity: 'error',
      from: { path: '^fuzz/' },
      to: { path: ['^(e2e|examples|tools)/'] },
    },
    {
      name: 'host-in-driver',
      comment: 'a driver uses the contract, policies and the toolkit; driver-api/host is for hosts',
      severity: 'error',
      from: {
        path: ['^packages/driver-(envoy|pipy)/src/', '^examples/driver-[^/]+/src/'],
        pathNot: '\\.test\\.ts$',
      },
      to: { path: '^packages/driver-api/src/host/' },
    },
    {
      name: 'kubernetes-in-driver',
      comment: 'a driver works without Kubernetes',
      severity: 'error',
      from: { path: '^packages/driver-' },
      to: { path: 'node_modules/@kubernetes/' },
    },
    {
      name: 'core-alone',
      comment:
        'core works without Kubernetes and without HTTP servers: packages/kubernetes and packages/program have those',
      severity: 'error',
      from: { path: '^packages/core/' },
      to: { path: ['node_modules/@kubernetes/', 'node_modules/(fastify|undici)/', '^(node:)?https?2?$'] },
    },
    {
      name: 'circular',
      comment: 'modules that need each other are one module, or lack a third',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'unresolvable',
      comment: 'an import that leads nowhere would escape every other rule',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^packages/envoy-api/gen/'] },
    // The template is code of somebody else's package; VitePress is installed beside the site alone.
    exclude: { path: ['/dist/', '^packages/create-driver/template/', '^tools/site/vitepress/'] },
    tsPreCompilationDeps: true,
    // Resolves @osm-ts/* to sources: the rules speak of them, and they are there before anything is compiled.
    tsConfig: { fileName: join(import.meta.dirname, 'tools/tsconfig.layers.json') },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
}
