// One config for every tier; OSM_TEST_TIER picks the files, so that a suite can never be in two tiers or in none.
const tier = process.env.OSM_TEST_TIER ?? 'unit'
const roots = {
  unit: { testMatch: ['<rootDir>/packages/*/src/**/*.test.ts', '<rootDir>/tools/**/*.test.ts', '<rootDir>/examples/**/*.test.ts'] },
  dataplane: { testMatch: ['<rootDir>/e2e/dataplane/**/*.test.ts'], maxWorkers: 1 },
}
if (!(tier in roots)) throw new Error(`OSM_TEST_TIER=${tier}: expected one of ${Object.keys(roots).join(', ')}`)

export default {
  ...roots[tier],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  moduleNameMapper: {
    '^@osm-ts/envoy-api/(.*)$': '<rootDir>/packages/envoy-api/gen/$1',
    '^@osm-ts/([^/]+)$': '<rootDir>/packages/$1/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } }],
  },
}
