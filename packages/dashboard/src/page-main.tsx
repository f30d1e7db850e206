import { render } from 'preact'

import { Page } from './page.js'

const root = document.getElementById('page')
if (root !== null) render(<Page />, root)
