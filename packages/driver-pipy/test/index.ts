/** What tests of whole programs use of this package beside its index: tests outside of packages may import nothing else of it. */
export { initWrapper } from '../src/bootstrap/init-wrapper.js'
export { patch } from '../src/bootstrap/patch.js'
export { documentMaker } from '../src/document.js'
export { logFormat } from '../src/translate/log-format.js'
export { RepoFixture, until } from './repo-fixture.js'
