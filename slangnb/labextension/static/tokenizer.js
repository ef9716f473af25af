// Cuts Slang into tokens, line by line: a stream parser in the sense of @codemirror/language. Imports nothing of
// JupyterLab, so that it runs and can be tested on its own.

import { CONSTANTS, CONTEXTUAL, DECLARATIONS, KEYWORDS, SELVES, TYPES } from './words.js';

// A text whose first line that is not blank begins like this is a %%slang cell; IPython skips what stands before.
const MAGIC = /^\s*%%slang(?!\w)/;
// As far as a cell's beginning is read for that.
export const HEAD = 200;

// The classes of words; JupyterLab's colours know these tags, but not `typeName`.
const STYLES = new Map([
  ...[...KEYWORDS, ...DECLARATIONS].map(word => [word, 'keyword']),
  ...CONSTANTS.map(word => [word, 'atom']),
  ...SELVES.map(word => [word, 'self'])
]);
const CONTEXT = new Set(CONTEXTUAL);
const DECLARES = new Set(DECLARATIONS);
const TYPE = new RegExp(`^(?:${TYPES.join('|')})$`);

const WORD = /^[A-Za-z_]\w*/;
const NUMBER = /^(?:0[xX][\da-fA-F_]+|0[bB][01_]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[fFhHuUlLzZ]*/;
const STRING = /^"(?:[^"\\]|\\.)*(?:"|\\?$)/;
const CHARACTER = /^'(?:[^'\\]|\\.)*'?/;
const RAW_STRING = /^R"([^\s()\\]{0,16})\(/;

// What stands before a name that is declared as a function, and what follows it: `float f(`, `T[N] f<let N : int>(`.
const BEHIND_TYPE = /(?:\w|[\w>]>|\])[ \t]+$/;
const BEHIND_STATEMENT = /\b(?:return|else|case|new|in|do|throw|try)[ \t]+$/;
const INNER = '[^;(){}<>]';
const GENERIC = `<(?:${INNER}|<(?:${INNER}|<${INNER}*>)*>)*>`; // which may hold generics that hold generics
const BEFORE_PARAMETERS = new RegExp(`^\\s*(?:${GENERIC}\\s*)?\\(`);

// Say whether a text is a %%slang cell.
export const isSlangCell = text => MAGIC.test(text);

const tokenizer = {
  name: 'slang',

  languageData: {
    commentTokens: { line: '//', block: { open: '/*', close: '*/' } },
    closeBrackets: { brackets: ['(', '[', '{', '"'] },
    indentOnInput: /^\s*[{}]$/
  },

  startState: () => ({
    begun: false, //   something stands before this line
    magic: false, //   in the line of %%slang
    closing: null, //  what ends the comment or raw string that goes over several lines
    style: null, //    and its style
    directive: 0, //   in a line of the preprocessor: 1 behind #include, else 2
    continued: false, // that line ends with a backslash
    brackets: '', //   open square brackets: `a` of an attribute, `i` of an index
    attribute: false, // the next name is an attribute's
    closed: false, //  an attribute has just ended
    declared: false, // the next name is the one that is declared
    depth: 0 //        open braces, for indentation
  }),

  copyState: state => ({ ...state }),

  indent(state, textAfter, context) {
    return Math.max(0, state.depth - (/^\s*\}/.test(textAfter) ? 1 : 0)) * context.unit;
  },

  token(stream, state) {
    if (stream.sol()) {
      startLine(stream, state);
    }
    if (state.closing) {
      return long(stream, state);
    }
    if (stream.eatSpace()) {
      return null;
    }
    if (state.magic) {
      return magic(stream);
    }
    return literal(stream, state) || symbol(stream, state);
  }
};

function startLine(stream, state) {
  state.magic = !state.begun && MAGIC.test(stream.string);
  state.begun = state.begun || stream.string.trim() !== '';
  state.directive = state.continued ? state.directive : 0;
  state.continued = /\\$/.test(stream.string);
}

// The line of %%slang: the magic itself, options, and their values.
function magic(stream) {
  if (stream.match(/^%%slang/)) {
    return 'meta';
  }
  if (stream.match(/^--?[A-Za-z][\w-]*/)) {
    return 'attributeName';
  }
  stream.match(/^\S+/);
  return 'string';
}

// A comment or raw string, up to its end or to the end of the line.
function long(stream, state) {
  const style = state.style;
  if (stream.skipTo(state.closing)) {
    stream.match(state.closing);
    state.closing = state.style = null;
  } else {
    stream.skipToEnd();
  }
  return style;
}

function begin(stream, state, closing, style) {
  state.closing = closing;
  state.style = style;
  return long(stream, state);
}

// Comments, strings, numbers and lines of the preprocessor.
function literal(stream, state) {
  if (stream.match('//')) {
    stream.skipToEnd();
    return 'comment';
  }
  if (stream.match('/*')) {
    return begin(stream, state, '*/', 'comment');
  }
  const directive = stream.match(/^#\s*(\w*)/);
  if (directive) {
    state.directive = directive[1] === 'include' ? 1 : 2;
    return 'meta';
  }
  if (state.directive === 1 && stream.match(/^<[^>]*>?/)) {
    return 'string';
  }
  const raw = stream.match(RAW_STRING);
  if (raw) {
    return begin(stream, state, `)${raw[1]}"`, 'string');
  }
  if (stream.match(STRING) || stream.match(CHARACTER)) {
    return 'string';
  }
  return stream.match(NUMBER) ? 'number' : null;
}

// Names, brackets and operators.
function symbol(stream, state) {
  const before = stream.string.slice(0, stream.pos);
  const word = stream.match(WORD);
  const closed = state.closed;
  state.closed = false;
  if (word) {
    return name(word[0], before, stream, state);
  }
  const sign = stream.next();
  state.attribute = state.declared = false;
  if (sign === '[') {
    // A bracket that follows a value indexes it; one that stands for itself is an attribute's.
    state.attribute = closed || !/[\w)\]>]$/.test(before);
    if (state.attribute) {
      stream.eat('[');
    }
    state.brackets += state.attribute ? 'a' : 'i';
  } else if (sign === ']') {
    state.closed = state.brackets.endsWith('a');
    state.brackets = state.brackets.slice(0, -1);
    if (state.closed) {
      stream.eat(']');
    }
  } else if (/[;{}]/.test(sign)) {
    state.brackets = '';
    state.depth = Math.max(0, state.depth + (sign === '{' ? 1 : sign === '}' ? -1 : 0));
  }
  if (/[-+*/%=<>!&|^~?:]/.test(sign)) {
    return 'operator';
  }
  return /[()[\]{}]/.test(sign) ? 'bracket' : 'punctuation';
}

function name(word, before, stream, state) {
  const { attribute, declared } = state;
  state.attribute = state.declared = false;
  if (attribute) {
    state.attribute = Boolean(stream.match(/^::(?=\w)/)); // `[vk::binding(0)]`
    return 'attributeName';
  }
  if (STYLES.has(word)) {
    state.declared = DECLARES.has(word);
    return STYLES.get(word);
  }
  if (CONTEXT.has(word) && stream.match(/^(?:\s+[A-Za-z_]|\s*\{)/, false)) {
    return 'keyword';
  }
  if (TYPE.test(word)) {
    return 'variableName.standard';
  }
  const heads = BEHIND_TYPE.test(before) && !BEHIND_STATEMENT.test(before) && stream.match(BEFORE_PARAMETERS, false);
  return declared || heads ? 'variableName.definition' : 'variableName';
}

// Give the tokenizer in a form that cannot fail: an exception in an editor would blank the whole notebook.
//
// A line at fault is left without colours, and `report` is told of the first fault.
export function guarded(report, parser = tokenizer) {
  let silent = false;
  const tell = error => {
    if (!silent) {
      silent = true;
      report(error);
    }
  };
  return {
    ...parser,
    token(stream, state) {
      const start = stream.pos;
      try {
        const style = parser.token(stream, state);
        if (stream.pos > start) {
          return style;
        }
        tell(new Error(`no token at ${JSON.stringify(stream.string.slice(start, start + 20))}`));
      } catch (error) {
        tell(error);
      }
      stream.skipToEnd();
      return null;
    },
    indent(state, textAfter, context) {
      try {
        return parser.indent(state, textAfter, context);
      } catch (error) {
        tell(error);
        return null; // as the line above
      }
    }
  };
}
