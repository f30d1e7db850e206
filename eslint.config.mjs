import js from '@eslint/js'
import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

import { ownKeysPlugin } from './tools/lint/own-keys.mjs'

const compositionRoots = [
  'packages/*/src/main.ts',
  'packages/*/src/*-main.ts',
  'packages/*/src/composition.ts',
  'e2e/**/*main.ts',
  'examples/**/main.ts',
]
const tests = ['**/*.test.ts', 'packages/*/test/**/*.ts', 'e2e/**/*.ts']

const noDefaultExport = {
  selector: 'ExportDefaultDeclaration',
  message: 'Export by name: a name that can be searched for is the same everywhere.',
}
const noModuleState = {
  selector: ':matches(Program, ExportNamedDeclaration) > VariableDeclaration[kind="let"]',
  message: 'State belongs to an object that somebody creates and closes, not to a module.',
}
const noExclusiveTest = {
  selector: 'MemberExpression[object.name=/^(describe|it|test)$/][property.name=/^(only|skip|todo|failing)$/]',
  message: 'Every test runs: mend it or delete it.',
}
const noUnawaitedCallback = {
  selector: 'CallExpression[callee.property.name="forEach"] > :function[async=true]',
  message: 'forEach waits for nothing: loop with for, or wait for Promise.all over map.',
}

/** Rules that ask the compiler for types are in .oxlintrc.json: ESLint alone took 75 s of processor time, both take 46 s. */
export default defineConfig(
  {
    ignores: [
      '**/node_modules/',
      '**/dist/',
      'packages/envoy-api/',
      'docs/reference/driver-api/',
      '.cache/',
      'fuzz/corpus/',
      'fuzz/findings/',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts', '**/*.tsx', '**/*.mjs'],
    extends: [js.configs.recommended, tseslint.configs.strict],
    rules: {
      eqeqeq: 'error',
      'no-restricted-syntax': ['error', noDefaultExport, noModuleState],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true, argsIgnorePattern: '^_' }],
    },
  },
  {
    files: ['packages/*/src/**/*.ts'],
    ignores: compositionRoots,
    rules: {
      'no-console': 'error',
      'no-restricted-properties': [
        'error',
        ...['env', 'exit', 'exitCode', 'argv'].map((property) => ({
          object: 'process',
          property,
          message: 'Only a main.ts knows the process; take what you need as an argument.',
        })),
      ],
      'no-restricted-imports': [
        'error',
        {
          paths: [
            { name: 'inversify', message: 'Only a main.ts knows the container; take plain constructor arguments.' },
            { name: 'node:process', message: 'Only a main.ts knows the process; take what you need as an argument.' },
            { name: 'process', message: 'Only a main.ts knows the process; take what you need as an argument.' },
          ],
        },
      ],
    },
  },
  {
    files: ['packages/*/src/**/*.ts', 'examples/*/src/**/*.ts'],
    ignores: tests,
    plugins: { osm: ownKeysPlugin },
    rules: { 'osm/own-keys': 'error' },
  },
  {
    files: ['packages/*/src/**/*.ts'],
    ignores: tests,
    rules: { 'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }] },
  },
  {
    files: tests,
    rules: {
      'no-restricted-syntax': ['error', noDefaultExport, noExclusiveTest, noUnawaitedCallback],
      'no-restricted-properties': 'off',
      // A test that meets undefined where it expects a value fails, which is what it is for.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    // Tools of this repository: plain JavaScript with its types in comments.
    files: ['**/*.mjs'],
    rules: {
      'no-undef': 'off',
    },
  },
  {
    // Programs that read a configuration, or load what it names, ask for the default export.
    files: ['*.mjs', 'e2e/*/harness/global-*.mjs', 'tools/testing/*-reporter.mjs'],
    rules: { 'no-restricted-syntax': 'off' },
  },
)
