/** A locale in the words of Java and ICU, with hyphens: `zh-CN-#Hans`, where the script is last. */
const scriptLast = /^([a-z]{2,3})-([a-z]{2}|\d{3})-#([a-z]{4})$/i;

/**
 * The canonical language tag of an app's language; undefined for a text that is none.
 *
 * Android, Java and ICU have underscores, and may add a code set or keywords: `zh_Hans_CN`,
 * `de_DE.UTF-8`, `en_GB@rg=dezzzz`.
 * @see BCP 47, ECMA-402 section 6.2; Unicode Technical Standard 35, "Old Locale Extension Syntax"
 */
export function languageTagOf(locale: string): string | undefined {
  const [withoutKeywords = '', ...keywords] = locale.split('@');
  // A modifier of POSIX, as in `sr_RS@latin`, may change the script.
  const areKeywords = keywords.every((text) => text.includes('='));
  if (!areKeywords) return undefined;
  const base = withoutKeywords.replace(/\.[\w-]+$/, '').replaceAll('_', '-');
  const tag = base.replace(scriptLast, '$1-$3-$2');
  // Languages have two or three letters. `Intl` would also take `posix` and `english` for one.
  if (!/^[a-z]{2,3}(-|$)/i.test(tag)) return undefined;
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}
