import js from '@eslint/js'
import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'

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

export default defineConfig(
  { ignores: ['**/node_modules/', '**/dist/', 'packages/envoy-api/', 'docs/reference/driver-api/', '.cache/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts', '**/*.mjs'],
    extends: [js.configs.recommended, tseslint.configs.strictTypeChecked],
    // One program over everything: a program for each project reads and checks the same files again and again.
    languageOptions: { parserOptions: { project: './tsconfig.lint.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      eqeqeq: 'error',
      'no-restricted-syntax': ['error', noDefaultExport, noModuleState],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      // Numbers read well in messages; everything else has to be made into a string on purpose.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // `() => stream.close()` as a callback says no less for lacking braces.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // `while (true)` with an exit inside is clearer than a condition made up for the linter.
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      // What these two look for the compiler refuses already, classes having private members here; they take a sixth of the linter's time.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      // Interfaces are asynchronous by contract; an implementation that has nothing to wait for is still right.
      '@typescript-eslint/require-await': 'off',
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
      // expect(object.method) never calls it.
      '@typescript-eslint/unbound-method': 'off',
      // Assertions about types take the type as their only use of a parameter.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
    },
  },
  {
    // What rules that ask for types would find in a test, the compiler and its failure find as well, and they cost the linter a fourth of its time. Those stay by
    // which a test that does not wait for what it expects is seen. Helpers of tests keep all of them.
    files: ['**/*.test.ts'],
    rules: {
      ...tseslint.configs.disableTypeChecked.rules,
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
    },
  },
  {
    // Tools of this repository: plain JavaScript with its types in comments.
    files: ['**/*.mjs'],
    rules: {
      'no-undef': 'off',
      // JSON.parse gives any; annotations say what it is.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
    },
  },
  {
    // Programs that read a configuration ask for its default export.
    files: ['*.mjs', 'e2e/api/harness/global-*.mjs'],
    rules: { 'no-restricted-syntax': 'off' },
  },
)
