/** A file of its own, because the page's Content-Security-Policy lets no script stand in it. */

SwaggerUIBundle({ url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, tryItOutEnabled: true });
