import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { transform } from 'esbuild'
import { createInstrumenter } from 'istanbul-lib-instrument'
import { root } from './paths.mjs'

/**
 * Counts in a bundle how often each statement and branch of our packages runs, in the global variable `__coverage__`.
 * @type {import('esbuild').Plugin}
 */
export const instrumented = {
  name: 'instrumented',
  setup(bundler) {
    const instrumenter = createInstrumenter({ esModules: true, compact: true, preserveComments: false })
    bundler.onLoad({ filter: /\/packages\/[^/]+\/src\/.*\.ts$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, 'utf8'), {
        loader: 'ts',
        target: 'node20',
        // Imports of types alone are left out.
        tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: false } },
      })
      return { contents: instrumenter.instrumentSync(code, relative(root, path)), loader: 'js' }
    })
  },
}
