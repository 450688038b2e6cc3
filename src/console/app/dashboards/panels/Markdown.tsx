/** Markdown as elements. HTML in it stays text, and links lead to the web or into the console alone. */
import { lexer, type Token, type Tokens } from "marked";
import { type ComponentChildren, createContext, type VNode } from "preact";
import { useContext } from "preact/hooks";
import { base } from "../../base.js";

interface MarkdownProps {
  readonly text: string;
  /** The reader is logged in, so links may lead to other pages of the console. */
  readonly isOwn: boolean;
}

const Own = createContext(true);

export function Markdown({ text, isOwn }: MarkdownProps) {
  return (
    <Own.Provider value={isOwn}>
      <div class="markdown">{blocks(lexer(text, { gfm: true }))}</div>
    </Own.Provider>
  );
}

const blocks = (tokens: readonly Token[]): VNode[] =>
  tokens.map((token, i) => <Block key={i} token={token} />);

function Block({ token }: { readonly token: Token }): VNode | null {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      return depth === 1 ? <h2>{inline(tokens)}</h2> : <h3>{inline(tokens)}</h3>;
    }
    case "paragraph":
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case "code":
      return <pre>{(token as Tokens.Code).text}</pre>;
    case "blockquote":
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "hr":
      return <hr />;
    case "list": {
      const { ordered, items } = token as Tokens.List;
      const children = items.map((item, i) => <li key={i}>{blocks(item.tokens)}</li>);
      return ordered ? <ol>{children}</ol> : <ul>{children}</ul>;
    }
    case "table":
      return <TableOf table={token as Tokens.Table} />;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return <>{tokens === undefined ? text : inline(tokens)}</>;
    }
    default:
      return <>{token.raw}</>;
  }
}

function TableOf({ table: { header, rows } }: { readonly table: Tokens.Table }) {
  return (
    <table class="table">
      <thead>
        <tr>
          {header.map(({ tokens }, i) => (
            <th key={i}>{inline(tokens)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, i) => (
          <tr key={i}>
            {cells.map(({ tokens }, k) => (
              <td key={k}>{inline(tokens)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const inline = (tokens: readonly Token[] = []): ComponentChildren =>
  tokens.map((token, i) => <Inline key={i} token={token} />);

function Inline({ token }: { readonly token: Token }): VNode {
  const isOwn = useContext(Own);
  switch (token.type) {
    case "strong":
      return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <del>{inline((token as Tokens.Del).tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "escape":
      return <>{(token as Tokens.Escape).text}</>;
    case "link":
    case "image": {
      const { href, text, tokens } = token as Tokens.Link;
      const shown = token.type === "link" ? inline(tokens) : text;
      if (!leadsSomewhere(href, isOwn)) return <>{shown}</>;
      return (
        <a
          href={isConsole(href) ? base + href : href}
          rel="noopener noreferrer"
          target={isConsole(href) ? undefined : "_blank"}
        >
          {shown}
        </a>
      );
    }
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return <>{tokens === undefined ? text : inline(tokens)}</>;
    }
    default:
      return <>{token.raw}</>;
  }
}

const leadsSomewhere = (href: string, isOwn: boolean): boolean =>
  /^https?:\/\//i.test(href) || (isOwn && isConsole(href));

/** Authors write these without the prefix of a proxy. */
const isConsole = (href: string): boolean => href.startsWith("/console/");
