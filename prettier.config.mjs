export default {
  printWidth: 120,
  semi: false,
  singleQuote: true,
  trailingComma: 'all',
  // Prettier's own parser of another make, for the same layout in three quarters of the time.
  plugins: ['@prettier/plugin-oxc'],
}
