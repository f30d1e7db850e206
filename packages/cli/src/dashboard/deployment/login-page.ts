/** What the form says above its field. */
const notices = {
  none: '',
  unknown: 'The API server does not accept this token for the page.',
  forbidden: 'The account of this token may not see the page.',
  busy: 'Too many tokens arrive. Try again in a few seconds.',
} as const

/** A key of the notices of {@link loginPage}. */
export type LoginNotice = keyof typeof notices

/** The notice that an address asks for; none for any other text. */
export function loginNoticeOf(text: unknown): LoginNotice {
  return typeof text === 'string' && isNotice(text) ? text : 'none'
}

function isNotice(text: string): text is LoginNotice {
  return Object.hasOwn(notices, text)
}

/**
 * The form that a browser is shown without a valid token. It holds no text of users.
 *
 * @param audience - of tokens; checked when the program starts
 */
export function loginPage(notice: LoginNotice, audience: string): string {
  const text = notices[notice]
  // Screen readers say the notice with the field that has the focus.
  const state = text === '' ? '' : 'aria-invalid="true" aria-describedby="notice" '
  const command = `kubectl create token &lt;service account&gt; --namespace &lt;namespace&gt;${audience === '' ? '' : ` --audience ${audience}`}`
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Sign in – osm dashboard</title>
    <link rel="icon" href="icon.svg" />
    <link rel="stylesheet" href="page.css" />
  </head>
  <body>
    <header><h1>osm dashboard</h1></header>
    <main>
      <h2>Sign in</h2>
      ${text === '' ? '' : `<p id="notice" class="notice bad" role="alert">${text}</p>`}
      <form method="post" action="login">
        <p><label for="token">Token of a service account</label></p>
        <p><input id="token" name="token" type="password" autocomplete="off" ${state}required autofocus /></p>
        <p><button>Sign in</button></p>
      </form>
      <p>Make a token with <code>${command}</code>.</p>
      <form method="post" action="logout"><p><button>Sign out</button></p></form>
    </main>
  </body>
</html>
`
}
